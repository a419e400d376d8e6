//! Colours that a colour-blind reader can distinguish.

use plotters::style::RGBColor;

pub(crate) type Colour = RGBColor;

/// For text and for lines that have to be seen first.
pub(crate) const INK: Colour = RGBColor(0x20, 0x20, 0x20);
/// For less important text, still dark enough to read.
pub(crate) const FAINT_INK: Colour = RGBColor(0x59, 0x59, 0x59);

/// A scale has one colour more than this. The page gets them as they are.
pub(crate) const SHADES: usize = 64;

/// Light for 0 and dark for 1.
pub(crate) fn sequential(fraction: f64) -> Colour {
    shade(colorous::YELLOW_ORANGE_BROWN, fraction)
}

/// Red for −1, nearly white for 0 and blue for 1.
pub(crate) fn diverging(goodness: f64) -> Colour {
    shade(colorous::RED_BLUE, (goodness + 1.0) / 2.0)
}

fn shade(gradient: colorous::Gradient, fraction: f64) -> Colour {
    let step = (fraction.clamp(0.0, 1.0) * SHADES as f64).round() as usize;
    let (red, green, blue) = gradient.eval_rational(step, SHADES + 1).as_tuple();
    RGBColor(red, green, blue)
}

pub(crate) fn grey(level: u8) -> Colour {
    RGBColor(level, level, level)
}

pub(crate) fn contrasting(background: Colour) -> Colour {
    const EQUAL_CONTRAST: f64 = 0.21;
    if luminance(background) < EQUAL_CONTRAST {
        RGBColor(255, 255, 255)
    } else {
        INK
    }
}

/// As in the Web Content Accessibility Guidelines.
fn luminance(RGBColor(red, green, blue): Colour) -> f64 {
    let linear = |channel: u8| {
        let part = f64::from(channel) / 255.0;
        if part <= 0.040_45 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 1 for no contrast to 21.
    fn contrast(one: Colour, other: Colour) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn a_greater_value_is_never_lighter() {
        let shades: Vec<f64> = (0..=100)
            .map(|i| luminance(sequential(f64::from(i) / 100.0)))
            .collect();
        assert!(shades.windows(2).all(|two| two[1] <= two[0] + 1e-9));
    }

    #[test]
    fn a_difference_is_darker_the_further_it_is_from_zero() {
        for side in [-1.0, 1.0] {
            let shades: Vec<f64> = (0..=50)
                .map(|i| luminance(diverging(side * f64::from(i) / 50.0)))
                .collect();
            assert!(shades.windows(2).all(|two| two[1] <= two[0] + 0.01));
        }
    }

    #[test]
    fn better_is_blue_and_worse_is_red() {
        let (RGBColor(red, _, blue), worse) = (diverging(0.7), diverging(-0.7));
        assert!(blue > red);
        assert!(worse.0 > worse.2);
    }

    #[test]
    fn text_can_be_read_on_every_shade() {
        for i in 0..=100 {
            let part = f64::from(i) / 100.0;
            for background in [sequential(part), diverging(2.0 * part - 1.0)] {
                assert!(
                    contrast(background, contrasting(background)) >= 4.0,
                    "{background:?}"
                );
            }
        }
        assert!(contrast(FAINT_INK, grey(0xe4)) >= 4.5);
    }
}
