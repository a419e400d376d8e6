//! Letters of DejaVu Sans, and how text fits into widths. The program contains the font, so that all machines draw alike.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, GlyphId};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, FontFamily, FontStyle, TextStyle};

use super::colour::{Colour, INK};

/// Verdana has the proportions of DejaVu, for a reader of an SVG who lacks that font.
const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// plotters writes a font size that is smaller by this factor than the size it is given.
const SIZE_PER_EM: f64 = 1.24;
/// The distance from the top of a line, where plotters places it, to the line on which its letters stand.
pub(super) const TOP_TO_BASELINE_EM: f64 = 0.76;

#[derive(Clone, Copy)]
pub(crate) struct Lettering {
    /// The size of an em in pixels.
    pub(crate) size: f64,
    bold: bool,
    colour: Colour,
    align: HPos,
}

impl Lettering {
    pub(crate) fn new(size: f64) -> Self {
        Self {
            size,
            bold: false,
            colour: INK,
            align: HPos::Left,
        }
    }

    pub(crate) fn bold(self, bold: bool) -> Self {
        Self { bold, ..self }
    }

    pub(crate) fn colour(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }

    pub(crate) fn aligned(self, align: HPos) -> Self {
        Self { align, ..self }
    }

    /// Makes the letters smaller if the widest of these texts needs that.
    pub(crate) fn fitting(self, texts: impl IntoIterator<Item: AsRef<str>>, width: f64) -> Self {
        let fitting = self.size * width / self.widest(texts);
        let size = self.size.min(fitting);
        Self { size, ..self }
    }

    pub(crate) fn widest(&self, texts: impl IntoIterator<Item: AsRef<str>>) -> f64 {
        let widths = texts.into_iter().map(|text| self.width_of(text.as_ref()));
        widths.fold(0.0, f64::max)
    }

    pub(crate) fn width_of(&self, text: &str) -> f64 {
        let face = font(self.bold);
        self.size * f64::from(letters(face, text).1) / em(face)
    }

    /// Breaks text after spaces, and labels such as `muxer=1/deferred` after their signs. A word that is wider than a line is
    /// broken anywhere.
    pub(crate) fn wrap(&self, text: &str, width: f64) -> Vec<String> {
        let fits = |line: &str| self.width_of(line.trim_end()) <= width;
        let mut lines: Vec<String> = Vec::new();
        let mut line = String::new();
        // A percent sign stays with its number.
        let text = text.replace(" %", "\u{a0}%");
        for word in text.split_inclusive([' ', '/', ',', '=', '+']) {
            if !fits(&format!("{line}{word}")) {
                lines.push(std::mem::take(&mut line));
            }
            for letter in word.chars() {
                if !line.is_empty() && !fits(&format!("{line}{letter}")) {
                    lines.push(std::mem::take(&mut line));
                }
                line.push(letter);
            }
        }
        lines.push(line);
        let with_spaces = lines.iter().map(|line| line.replace('\u{a0}', " "));
        let trimmed = with_spaces.map(|line| line.trim().to_owned());
        trimmed.filter(|line| !line.is_empty()).collect()
    }

    pub(super) fn top_to_middle(&self) -> f64 {
        const HALF_A_CAPITAL_EM: f64 = 0.365;
        (TOP_TO_BASELINE_EM - HALF_A_CAPITAL_EM) * self.size
    }

    pub(super) fn in_plotters(&self) -> TextStyle<'static> {
        let style = [FontStyle::Normal, FontStyle::Bold][usize::from(self.bold)];
        let described = FontDesc::new(FontFamily::Name(FAMILY), self.size * SIZE_PER_EM, style);
        described
            .color(&self.colour)
            .pos(Pos::new(self.align, VPos::Top))
    }
}

pub(super) fn font(is_bold: bool) -> &'static FontRef<'static> {
    static FONTS: LazyLock<[FontRef<'static>; 2]> = LazyLock::new(|| {
        let faces = [dejavu::sans::regular(), dejavu::sans::bold()];
        faces.map(|face| FontRef::try_from_slice(face).expect("DejaVu is a font"))
    });
    &FONTS[usize::from(is_bold)]
}

/// The letters of a line, each with its place, and the end of the line, in units of the font.
pub(super) fn letters(font: &FontRef, line: &str) -> (Vec<(GlyphId, f32)>, f32) {
    let (mut letters, mut end) = (Vec::<(GlyphId, f32)>::new(), 0.0);
    for letter in line.chars().map(|letter| font.glyph_id(letter)) {
        let before = letters.last();
        end += before.map_or(0.0, |(before, _)| font.kern_unscaled(*before, letter));
        letters.push((letter, end));
        end += font.h_advance_unscaled(letter);
    }
    (letters, end)
}

pub(super) fn em(font: &FontRef) -> f64 {
    f64::from(font.units_per_em().expect("DejaVu has its size"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_asked_and_no_word_is_lost() {
        let text = "kernel 6.18 sha256:0123456789abcdef0123456789abcdef0123456789abcdef cubic";
        let lines = Lettering::new(15.0).wrap(text, 200.0);
        assert!(lines.len() > 2);
        assert!(Lettering::new(15.0).widest(&lines) <= 200.0);
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    }

    #[test]
    fn text_that_fits_keeps_its_size() {
        let style = Lettering::new(17.0);
        assert_eq!(style.fitting(["ab", "abc"], 500.0).size, 17.0);
        let long = "abcdefghijklmnop";
        assert!(style.fitting([long], 50.0).width_of(long) <= 50.01);
    }

    #[test]
    fn every_sign_the_charts_use_is_in_the_font_and_has_its_width() {
        let style = Lettering::new(20.0);
        let missing = style.width_of("\u{10ffff}");
        for sign in "0123456789.,:;%−–±…×·→≥≤µΔ/=()[]<>|\u{2009}".chars() {
            assert_ne!(style.width_of(&sign.to_string()), missing, "{sign}");
        }
        // Digits of DejaVu Sans are 1303 units of 2048 wide.
        assert!((style.width_of("10") - 2.0 * 20.0 * 1303.0 / 2048.0).abs() < 0.3);
    }
}
