//! A picture in no more than 256 colours, which are enough for flat areas and letters, and make its file
//! a third as large.

use std::{collections::HashMap, iter};

use anyhow::{Result, anyhow};
use quantette::{
    PaletteCounts, PaletteSize,
    color_map::IndexedColorMap,
    color_space::{oklab_to_srgb8, srgb8_to_oklab},
    deps::palette::{Srgb, cast::into_component_slice},
    wu::{BinnerF32x3, WuF32x3},
};

pub(super) struct Indexed {
    /// Red, green and blue of each colour.
    pub(super) palette: Vec<u8>,
    /// The colour of each pixel.
    pub(super) indices: Vec<u8>,
}

/// Of pixels, each as red, green and blue.
///
/// A picture is mostly runs of one colour. Its colours are counted run by run, which takes a fraction of
/// the time of the pipeline that the crate has for photographs.
pub(super) fn indexed(pixels: &[u8]) -> Result<Indexed> {
    let runs = Runs::of(pixels.as_chunks().0);
    let colours = PaletteCounts::new(srgb8_to_oklab(&runs.colours), runs.pixels)
        .map_err(|_| anyhow!("a picture of too many pixels"))?;
    let few = WuF32x3::run_palette_counts(&colours, BinnerF32x3::oklab_from_srgb8())
        .ok_or_else(|| anyhow!("a picture without pixels"))?
        .color_map(PaletteSize::MAX);
    let one_of_few = few.map_to_indices(colours.palette());
    let mut indices = Vec::with_capacity(pixels.len() / 3);
    for (colour, length) in runs.runs {
        indices.extend(iter::repeat_n(one_of_few[colour], length));
    }
    let palette = oklab_to_srgb8(few.palette());
    Ok(Indexed {
        palette: into_component_slice(&palette).to_vec(),
        indices,
    })
}

#[derive(Default)]
struct Runs {
    /// Each once, as they are first met.
    colours: Vec<Srgb<u8>>,
    /// How many pixels have each of them.
    pixels: Vec<u32>,
    /// Which colour, and for how many pixels.
    runs: Vec<(usize, usize)>,
}

impl Runs {
    fn of(pixels: &[[u8; 3]]) -> Runs {
        let mut found = Runs::default();
        let mut known = HashMap::new();
        for run in pixels.chunk_by(|one, next| one == next) {
            let colour = *known.entry(run[0]).or_insert_with(|| {
                found.colours.push(Srgb::from(run[0]));
                found.pixels.push(0);
                found.colours.len() - 1
            });
            found.pixels[colour] += run.len() as u32;
            found.runs.push((colour, run.len()));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(of: &Indexed) -> Vec<u8> {
        let colour = |index: &u8| &of.palette[usize::from(*index) * 3..][..3];
        of.indices.iter().flat_map(colour).copied().collect()
    }

    #[test]
    fn colours_far_apart_stay_as_they_are() {
        let pixels = [[255, 255, 255], [255, 255, 255], [213, 94, 0], [255; 3]].concat();
        let indexed = indexed(&pixels).expect("a picture");
        assert_eq!(drawn(&indexed), pixels);
        assert_eq!(indexed.palette.len(), 2 * 3);
    }

    #[test]
    fn more_than_256_become_those_near_them() {
        let pixels: Vec<u8> = (0..=255)
            .flat_map(|step| [[step, 0, 0], [step, 255 - step, 0]])
            .flatten()
            .collect();
        let indexed = indexed(&pixels).expect("a picture");
        assert!(indexed.palette.len() <= 256 * 3);
        let apart = drawn(&indexed)
            .iter()
            .zip(&pixels)
            .map(|(drawn, asked)| drawn.abs_diff(*asked))
            .max();
        assert!(apart <= Some(40), "{apart:?}");
    }

    #[test]
    fn no_pixel_is_no_picture() {
        assert!(indexed(&[]).is_err());
    }
}
