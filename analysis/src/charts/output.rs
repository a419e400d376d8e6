//! Writes pictures to files.

use std::{
    cell::RefCell,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use super::{
    draw::{Canvas, Raster, SUBPIXELS, Surface, Vector},
    indexed::indexed,
    parts::frame,
    view::Picture,
};
use anyhow::{Context, Result};
use plotters::backend::{BitMapBackend, SVGBackend};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChartFormat {
    Png,
    Svg,
}

impl ChartFormat {
    pub(crate) fn extension(self) -> &'static str {
        match self {
            ChartFormat::Png => "png",
            ChartFormat::Svg => "svg",
        }
    }
}

/// Writes `<stem>.png` and `<stem>.svg`, whichever are asked for.
pub(crate) fn write(picture: &dyn Picture, stem: &Path, formats: &[ChartFormat]) -> Result<()> {
    for format in formats {
        let bytes = match format {
            ChartFormat::Png => png(picture)?,
            ChartFormat::Svg => svg(picture)?.into_bytes(),
        };
        put(&with_extension(stem, format.extension()), &bytes)?;
    }
    Ok(())
}

/// Appends the extension, since the stem may have dots of its own.
fn with_extension(stem: &Path, extension: &str) -> PathBuf {
    let mut name = OsString::from(stem);
    name.push(".");
    name.push(extension);
    name.into()
}

/// Writes to another name first and renames, so that no reader sees half a picture.
fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    let unfinished = with_extension(path, "tmp");
    fs::write(&unfinished, bytes)
        .and_then(|()| fs::rename(&unfinished, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

pub(super) fn png(picture: &dyn Picture) -> Result<Vec<u8>> {
    let (width, height) = frame::size(picture);
    let fine = (width * SUBPIXELS, height * SUBPIXELS);
    // A picture fills its whole background first, so the pixels of the last one need no clearing.
    let mut pixels = LAST_PIXELS.take();
    pixels.resize((fine.0 * fine.1 * 3) as usize, 0);
    draw(
        picture,
        &mut Raster(BitMapBackend::with_buffer(&mut pixels, fine)),
    )?;
    let bytes = encode(&pixels, width, height);
    LAST_PIXELS.set(pixels);
    bytes
}

thread_local! {
    static LAST_PIXELS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// As SVG.
pub(crate) fn svg(picture: &dyn Picture) -> Result<String> {
    let (width, height) = frame::size(picture);
    let fine = (width * SUBPIXELS, height * SUBPIXELS);
    let mut text = String::new();
    {
        let mut surface = Vector(SVGBackend::with_string(&mut text, fine));
        draw(picture, &mut surface)?;
        surface.finish()?;
    }
    // The view box stays fine; what is shown is as large as the PNG.
    let drawn_as = format!("width=\"{}\" height=\"{}\"", fine.0, fine.1);
    Ok(text.replacen(
        &drawn_as,
        &format!("width=\"{width}\" height=\"{height}\""),
        1,
    ))
}

fn draw(picture: &dyn Picture, surface: &mut dyn Surface) -> Result<()> {
    let mut canvas = Canvas::new(surface);
    frame::draw(&mut canvas, picture);
    canvas.finish()
}

/// Flat areas and repeated letters gain nothing from a filter.
fn encode(fine: &[u8], width: u32, height: u32) -> Result<Vec<u8>> {
    let indexed = indexed(fine, width as usize)?;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(indexed.palette);
    encoder.set_deflate_compression(png::DeflateCompression::Level(4));
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header().context("cannot encode a PNG")?;
    writer
        .write_image_data(&indexed.indices)
        .context("cannot encode a PNG")?;
    writer.finish().context("cannot encode a PNG")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_in_a_stem_stays() {
        let path = with_extension(Path::new("out/muxer=2.5"), "png");
        assert_eq!(path, Path::new("out/muxer=2.5.png"));
    }
}
