//! The colours of text and lines.

use plotters::style::RGBColor;

pub(crate) type Colour = RGBColor;

/// The colour of text and lines that are to be seen first.
pub(crate) const INK: Colour = RGBColor(0x20, 0x20, 0x20);
/// The colour of less important text. It is dark enough to read.
pub(crate) const FAINT_INK: Colour = RGBColor(0x59, 0x59, 0x59);

pub(crate) fn grey(level: u8) -> Colour {
    RGBColor(level, level, level)
}

pub(crate) fn contrasting(background: Colour) -> Colour {
    const EQUAL_CONTRAST: f64 = 0.21;
    match luminance(background) < EQUAL_CONTRAST {
        true => grey(255),
        false => INK,
    }
}

/// The relative luminance of the Web Content Accessibility Guidelines, from 0 to 1.
pub(super) fn luminance(RGBColor(red, green, blue): Colour) -> f64 {
    let linear = |channel: u8| {
        let part = f64::from(channel) / 255.0;
        match part <= 0.040_45 {
            true => part / 12.92,
            false => ((part + 0.055) / 1.055).powf(2.4),
        }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}
