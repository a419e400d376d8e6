//! DejaVu Sans, built into the program, so that pictures are the same on every machine.

use std::{cell::RefCell, collections::HashMap, rc::Rc, sync::OnceLock};

use ab_glyph::{Font, FontRef, Glyph, PxScale, ScaleFont, point};

/// Verdana has the same proportions, for a reader of an SVG who has no DejaVu.
pub(crate) const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// The width of a line of text.
pub(crate) fn advance(text: &str, em: f64, bold: bool) -> f64 {
    let mut pen = 0.0;
    for_each_glyph(text, em, bold, |_, _, after| pen = after);
    f64::from(pen)
}

/// Calls `draw` with every pixel the text covers and how much, with the pen starting at `x` and
/// standing on the line `y`.
pub(crate) fn cover(
    text: &str,
    em: f64,
    bold: bool,
    (x, y): (f32, f32),
    mut draw: impl FnMut(i32, i32, f32),
) {
    for_each_glyph(text, em, bold, |font, glyph, _| {
        // At whole subpixels, the same letter always looks the same.
        let (right, down) = ((x + glyph.position.x).round() as i32, y.round() as i32);
        for (column, row, coverage) in shape(font, glyph, bold).iter() {
            draw(right + column, down + row, *coverage);
        }
    });
}

/// The pixels of a letter about its own origin, and how much of each it covers.
type GlyphPixels = Rc<[(i32, i32, f32)]>;

/// Charts have thousands of letters, but few different ones, so each thread rasterizes each letter once.
fn shape(font: &FontRef<'static>, glyph: Glyph, bold: bool) -> GlyphPixels {
    thread_local! {
        static SHAPES: RefCell<HashMap<(u16, u32, bool), GlyphPixels>> = RefCell::default();
    }
    let key = (glyph.id.0, glyph.scale.y.to_bits(), bold);
    SHAPES.with_borrow_mut(|shapes| {
        let shape = shapes
            .entry(key)
            .or_insert_with(|| rasterized(font, glyph).into());
        Rc::clone(shape)
    })
}

fn rasterized(font: &FontRef<'static>, mut glyph: Glyph) -> Vec<(i32, i32, f32)> {
    glyph.position = point(0.0, 0.0);
    let mut pixels = Vec::new();
    if let Some(outlined) = font.outline_glyph(glyph) {
        let corner = outlined.px_bounds().min;
        outlined.draw(|column, row, coverage| {
            let coverage = step(coverage);
            if coverage > 0.0 {
                let (column, row) = (column as i32, row as i32);
                pixels.push((corner.x as i32 + column, corner.y as i32 + row, coverage));
            }
        });
    }
    pixels
}

/// Quarters, which become seventeen shades after smoothing. More are not visible, and make a PNG a fifth larger.
fn step(coverage: f32) -> f32 {
    (coverage * 4.0).round() / 4.0
}

/// Calls `each` with every glyph, its place, and where the pen is after it.
fn for_each_glyph(
    text: &str,
    em: f64,
    bold: bool,
    mut each: impl FnMut(&FontRef<'static>, Glyph, f32),
) {
    let font = face(bold);
    let scale = scale_of(font, em);
    let scaled = font.as_scaled(scale);
    let mut pen = 0.0;
    let mut before = None;
    for character in text.chars() {
        let id = font.glyph_id(character);
        if let Some(before) = before {
            pen += scaled.kern(before, id);
        }
        let glyph = id.with_scale_and_position(scale, point(pen, 0.0));
        pen += scaled.h_advance(id);
        each(font, glyph, pen);
        before = Some(id);
    }
}

/// A scale here is the height from the lowest descender to the highest ascender, not the em.
fn scale_of(font: &FontRef<'_>, em: f64) -> PxScale {
    let units_per_em = font.units_per_em().unwrap_or(2048.0);
    PxScale::from(em as f32 * font.height_unscaled() / units_per_em)
}

fn face(bold: bool) -> &'static FontRef<'static> {
    static REGULAR: OnceLock<FontRef<'static>> = OnceLock::new();
    static BOLD: OnceLock<FontRef<'static>> = OnceLock::new();
    let (face, bytes) = if bold {
        (&BOLD, dejavu::sans::bold as fn() -> &'static [u8])
    } else {
        (&REGULAR, dejavu::sans::regular as fn() -> &'static [u8])
    };
    face.get_or_init(|| FontRef::try_from_slice(bytes()).expect("DejaVu is a font"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_the_charts_use_is_in_the_font() {
        for bold in [false, true] {
            for sign in "0123456789.,:;%−–±…×·→≥≤µΔ/=()[]<>|\u{2009}".chars() {
                assert_ne!(face(bold).glyph_id(sign).0, 0, "{sign}");
            }
        }
    }

    #[test]
    fn width_grows_with_text_and_size() {
        assert!(advance("10.9", 20.0, false) > advance("10", 20.0, false));
        assert!((advance("10", 40.0, false) - 2.0 * advance("10", 20.0, false)).abs() < 0.01);
    }
}
