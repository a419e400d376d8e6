//! DejaVu Sans, built into the program, so that pictures are the same on every machine.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, GlyphId, OutlineCurve};
use tiny_skia::{Path, PathBuilder};

/// Verdana has the same proportions, for a reader of an SVG who has no DejaVu.
pub(crate) const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// The width of a line of text.
pub(crate) fn width_of(text: &str, em: f64, bold: bool) -> f64 {
    let mut end = 0.0;
    for_each_glyph(text, bold, |_, _, after| end = after);
    f64::from(end * scale(em, bold))
}

/// The outlines of letters that stand on a line at zero and begin at zero. None if there are none.
pub(super) fn outlines(text: &str, em: f64, bold: bool) -> Option<Path> {
    let (font, scale) = (face(bold), scale(em, bold));
    let mut path = PathBuilder::new();
    for_each_glyph(text, bold, |glyph, begin, _| {
        let at = |point: ab_glyph::Point| (scale * (begin + point.x), -scale * point.y);
        let mut last = None;
        for curve in font.outline(glyph).into_iter().flat_map(|it| it.curves) {
            let (OutlineCurve::Line(from, to)
            | OutlineCurve::Quad(from, _, to)
            | OutlineCurve::Cubic(from, _, _, to)) = curve;
            if last != Some(from) {
                path.move_to(at(from).0, at(from).1);
            }
            last = Some(to);
            let (x, y) = at(to);
            match curve {
                OutlineCurve::Line(..) => path.line_to(x, y),
                OutlineCurve::Quad(_, by, _) => path.quad_to(at(by).0, at(by).1, x, y),
                OutlineCurve::Cubic(_, one, two, _) => {
                    path.cubic_to(at(one).0, at(one).1, at(two).0, at(two).1, x, y);
                }
            }
        }
    });
    path.finish()
}

/// Calls `each` with every glyph, where it begins, and where the next one begins, in the font's units.
fn for_each_glyph(text: &str, bold: bool, mut each: impl FnMut(GlyphId, f32, f32)) {
    let font = face(bold);
    let mut pen = 0.0;
    let mut before = None;
    for character in text.chars() {
        let glyph = font.glyph_id(character);
        pen += before.map_or(0.0, |before| font.kern_unscaled(before, glyph));
        let next = pen + font.h_advance_unscaled(glyph);
        each(glyph, pen, next);
        (pen, before) = (next, Some(glyph));
    }
}

fn scale(em: f64, bold: bool) -> f32 {
    em as f32 / face(bold).units_per_em().unwrap_or(2048.0)
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
        assert!(width_of("10.9", 20.0, false) > width_of("10", 20.0, false));
        assert!((width_of("10", 40.0, false) - 2.0 * width_of("10", 20.0, false)).abs() < 0.01);
    }

    #[test]
    fn letters_are_where_their_width_says() {
        for text in ["10", "muxer=1/deferred"] {
            let bounds = outlines(text, 20.0, false).expect("letters").bounds();
            let width = width_of(text, 20.0, false) as f32;
            assert!(bounds.left() > -1.0 && bounds.right() < width + 1.0);
            assert!(bounds.top() < -10.0 && bounds.bottom() < 6.0, "{bounds:?}");
        }
        assert!(outlines(" ", 20.0, false).is_none());
    }
}
