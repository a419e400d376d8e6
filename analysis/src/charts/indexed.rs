//! Reduces a picture to 256 colours. These are enough for flat areas and letters, and make its file a third as
//! large.

use std::{array, iter};

use anyhow::{Result, anyhow};
use foldhash::{HashMap, HashMapExt};
use quantette::{
    PaletteCounts, PaletteSize,
    color_map::IndexedColorMap,
    color_space::{oklab_to_srgb8, srgb8_to_oklab},
    deps::palette::{Srgb, cast::into_component_slice},
    wu::{BinnerF32x3, WuF32x3},
};

use super::draw::SUBPIXELS;

/// Pixels are halved both ways below.
const _: () = assert!(SUBPIXELS == 2);

pub(super) struct Indexed {
    /// Red, green and blue of each colour.
    pub(super) palette: Vec<u8>,
    /// The colour of each pixel.
    pub(super) indices: Vec<u8>,
}

/// Takes a picture that was drawn at twice its size; `width` is that of the result. Each pixel is the mean of
/// four, which smooths all edges.
///
/// A picture is mostly runs of one colour. Its colours are counted run by run, which takes a fraction of the
/// time of the crate's own pipeline for photographs.
pub(super) fn indexed(fine: &[u8], width: usize) -> Result<Indexed> {
    let runs = Runs::of(fine, width);
    let colours = PaletteCounts::new(srgb8_to_oklab(&runs.colours), runs.pixels())
        .map_err(|_| anyhow!("a picture of too many pixels"))?;
    let few = WuF32x3::run_palette_counts(&colours, BinnerF32x3::oklab_from_srgb8())
        .ok_or_else(|| anyhow!("a picture without pixels"))?
        .color_map(PaletteSize::MAX);
    let one_of_few = few.map_to_indices(colours.palette());
    let mut indices = Vec::with_capacity(fine.len() / 12);
    for (colour, length) in runs.runs {
        indices.extend(iter::repeat_n(one_of_few[colour], length as usize));
    }
    let palette = oklab_to_srgb8(few.palette());
    Ok(Indexed {
        palette: into_component_slice(&palette).to_vec(),
        indices,
    })
}

#[derive(Default)]
struct Runs {
    /// Each once, in the order of their first pixels.
    colours: Vec<Srgb<u8>>,
    /// The index of the colour, and the number of pixels.
    runs: Vec<(usize, u32)>,
}

impl Runs {
    fn of(fine: &[u8], width: usize) -> Runs {
        /// The bytes of a row that are compared at once. Most pieces have a single colour.
        const PIECE: usize = 16 * 3;
        let row = 2 * width * 3;
        let mut runs = Runs::default();
        let mut known = HashMap::new();
        let mut last = None;
        let mut add = |colour: [u8; 3], pixels: usize| match runs.runs.last_mut() {
            Some((_, length)) if last == Some(colour) => *length += pixels as u32,
            _ => {
                last = Some(colour);
                let [red, green, blue] = colour;
                // As one number, which is hashed at once.
                let key = u32::from_be_bytes([0, red, green, blue]);
                let colour = *known.entry(key).or_insert_with(|| {
                    runs.colours.push(Srgb::new(red, green, blue));
                    runs.colours.len() - 1
                });
                runs.runs.push((colour, pixels as u32));
            }
        };
        for rows in fine.chunks_exact(2 * row) {
            let (upper, lower) = rows.split_at(row);
            for (upper, lower) in upper.chunks(PIECE).zip(lower.chunks(PIECE)) {
                if upper == lower && is_flat(upper) {
                    add([upper[0], upper[1], upper[2]], upper.len() / 6);
                } else {
                    let pairs = upper.as_chunks().0.iter().zip(lower.as_chunks().0);
                    pairs.for_each(|(upper, lower)| add(mean(upper, lower), 1));
                }
            }
        }
        runs
    }

    /// The number of pixels of each colour.
    fn pixels(&self) -> Vec<u32> {
        let mut pixels = vec![0; self.colours.len()];
        for (colour, length) in &self.runs {
            pixels[*colour] += length;
        }
        pixels
    }
}

/// Whether each pixel is as the one before.
fn is_flat(pixels: &[u8]) -> bool {
    pixels[3..] == pixels[..pixels.len() - 3]
}

/// Of two pixels, and the two below them.
fn mean(upper: &[u8; 6], lower: &[u8; 6]) -> [u8; 3] {
    array::from_fn(|channel| {
        let of = |two: &[u8; 6]| u16::from(two[channel]) + u16::from(two[channel + 3]);
        ((of(upper) + of(lower) + 2) / 4) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of one row of these, as it is drawn.
    fn fine(pixels: &[[u8; 3]]) -> Vec<u8> {
        let row: Vec<u8> = pixels.iter().flat_map(|it| [*it; 2]).flatten().collect();
        row.repeat(2)
    }

    fn drawn(of: &Indexed) -> Vec<u8> {
        let colour = |index: &u8| &of.palette[usize::from(*index) * 3..][..3];
        of.indices.iter().flat_map(colour).copied().collect()
    }

    #[test]
    fn colours_far_apart_stay_as_they_are() {
        let mut pixels = vec![[255; 3]; 50];
        pixels[20] = [213, 94, 0];
        let indexed = indexed(&fine(&pixels), pixels.len()).expect("a picture");
        assert_eq!(drawn(&indexed), pixels.concat());
        assert_eq!(indexed.palette.len(), 2 * 3);
    }

    #[test]
    fn each_pixel_is_the_mean_of_four() {
        let fine = [0, 0, 0, 4, 8, 12, 0, 0, 0, 4, 8, 12];
        let runs = Runs::of(&fine, 1);
        assert_eq!(
            (runs.colours, runs.runs),
            (vec![Srgb::new(2, 4, 6)], vec![(0, 1)])
        );
    }

    #[test]
    fn rows_that_differ_are_not_flat() {
        let row = |value: u8| vec![value; 16 * 2 * 3];
        let runs = Runs::of(&[row(0), row(8), row(4), row(4)].concat(), 16);
        assert_eq!(
            (runs.colours.len(), runs.pixels(), runs.runs),
            (1, vec![32], vec![(0, 32)])
        );
    }

    #[test]
    fn more_than_256_become_those_near_them() {
        let pixels: Vec<[u8; 3]> = (0..=255)
            .flat_map(|step| [[step, 0, 0], [step, 255 - step, 0]])
            .collect();
        let indexed = indexed(&fine(&pixels), pixels.len()).expect("a picture");
        assert!(indexed.palette.len() <= 256 * 3);
        let apart = drawn(&indexed)
            .iter()
            .zip(pixels.as_flattened())
            .map(|(drawn, asked)| drawn.abs_diff(*asked))
            .max();
        assert!(apart <= Some(40), "{apart:?}");
    }

    #[test]
    fn no_pixel_is_no_picture() {
        assert!(indexed(&[], 1).is_err());
    }
}
