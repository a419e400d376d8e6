//! Letters of DejaVu Sans, which is built into the program, so that pictures are the same on every machine; and how
//! text fits into widths.

use std::sync::Once;

use plotters::style::{
    FontDesc, FontFamily, FontStyle, TextStyle, register_font,
    text_anchor::{HPos, Pos, VPos},
};

use super::colour::{Colour, INK};

/// Verdana has the same proportions, for a reader of an SVG who has no DejaVu.
const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// Plotters measures text of a size that is the sum of the font's ascent and descent, in em.
const HEIGHT_EM: f64 = 2384.0 / 2048.0;
/// Its SVG has an em of the size divided by this,
const SIZE_PER_EM: f64 = 1.24;
/// and the line on which letters stand so many em below their top.
const TOP_TO_BASELINE_EM: f64 = 0.76;

#[derive(Clone, Copy)]
pub(crate) struct Lettering {
    /// The em, in pixels.
    pub(crate) size: f64,
    pub(crate) bold: bool,
    pub(crate) colour: Colour,
    pub(crate) align: HPos,
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

    pub(crate) fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(crate) fn colour(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }

    pub(crate) fn centred(self) -> Self {
        Self {
            align: HPos::Center,
            ..self
        }
    }

    pub(crate) fn right(self) -> Self {
        Self {
            align: HPos::Right,
            ..self
        }
    }

    pub(super) fn top_to_baseline(&self) -> f64 {
        TOP_TO_BASELINE_EM * self.size
    }

    pub(super) fn in_plotters(&self) -> TextStyle<'static> {
        font(self.size * SIZE_PER_EM, self.bold)
            .color(&self.colour)
            .pos(Pos::new(self.align, VPos::Top))
    }
}

pub(crate) fn faces() -> [&'static [u8]; 2] {
    [dejavu::sans::regular(), dejavu::sans::bold()]
}

fn font(size: f64, bold: bool) -> FontDesc<'static> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let styles = [FontStyle::Normal, FontStyle::Bold];
        for (style, face) in styles.into_iter().zip(faces()) {
            let registered = register_font(FAMILY, style, face);
            assert!(registered.is_ok(), "DejaVu is a font");
        }
    });
    let style = match bold {
        true => FontStyle::Bold,
        false => FontStyle::Normal,
    };
    FontDesc::new(FontFamily::Name(FAMILY), size, style)
}

pub(crate) fn width_of(text: &str, em: f64, bold: bool) -> f64 {
    // It is measured in whole pixels, so of large letters.
    const LARGE: f64 = 100.0;
    let measured = font(LARGE * HEIGHT_EM, bold).box_size(text);
    let (width, _) = measured.expect("the font is registered");
    em * f64::from(width) / LARGE
}

pub(crate) fn widest<'a>(texts: impl IntoIterator<Item = &'a str>, size: f64, bold: bool) -> f64 {
    let widths = texts.into_iter().map(|text| width_of(text, size, bold));
    widths.fold(0.0, f64::max)
}

pub(crate) fn fitting<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    width: f64,
    size: f64,
    bold: bool,
) -> f64 {
    let widest = widest(texts, size, bold);
    match widest <= width {
        true => size,
        false => size * width / widest,
    }
}

/// Breaks text after spaces, and labels such as `muxer=1/deferred` after their signs. What is still wider than a line is
/// broken anywhere.
pub(crate) fn wrap(text: &str, width: f64, size: f64, bold: bool) -> Vec<String> {
    let fits = |line: &str| width_of(line.trim_end(), size, bold) <= width;
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
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
    let lines = lines.iter().map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_asked_and_no_word_is_lost() {
        let text = "kernel 6.18 sha256:0123456789abcdef0123456789abcdef0123456789abcdef cubic";
        let lines = wrap(text, 200.0, 15.0, false);
        assert!(lines.len() > 2);
        assert!(
            lines
                .iter()
                .all(|line| width_of(line, 15.0, false) <= 200.0)
        );
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    }

    #[test]
    fn text_that_fits_keeps_its_size() {
        assert_eq!(fitting(["ab", "abc"], 500.0, 17.0, false), 17.0);
        let size = fitting(["abcdefghijklmnop"], 50.0, 17.0, false);
        assert!(width_of("abcdefghijklmnop", size, false) <= 50.01);
    }

    #[test]
    fn every_sign_the_charts_use_is_in_the_font_and_has_its_width() {
        let missing = width_of("\u{10ffff}", 20.0, false);
        for sign in "0123456789.,:;%−–±…×·→≥≤µΔ/=()[]<>|\u{2009}".chars() {
            assert_ne!(width_of(&sign.to_string(), 20.0, false), missing, "{sign}");
        }
        // Digits of DejaVu Sans are 1303 units of 2048 wide.
        assert!((width_of("10", 20.0, false) - 2.0 * 20.0 * 1303.0 / 2048.0).abs() < 0.3);
    }
}
