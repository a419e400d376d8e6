//! Turns numbers into colours, and draws the bar that says which colour is which number.

use plotters::style::RGBColor;
use plotters::style::text_anchor::HPos;

use super::canvas::{Canvas, Rect};
use super::colour::{Colour, contrasting, grey};
use super::lettering::Lettering;
use super::picture::TICK;
use super::values::name_with_unit;
use crate::stats::quotient;
use crate::text::{short, with_plus};

pub(crate) struct ColourScale {
    /// The name of the numbers, with their unit.
    name: String,
    /// The greatest number, or the greatest difference in either direction. Nothing is clipped.
    max: f64,
    colours: Colours,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    /// Colours for numbers from zero on. Greater ones are darker.
    Sequential,
    /// Colours for differences. Better ones are blue, worse ones are red.
    LowerIsBetter,
    HigherIsBetter,
}

/// The steps between the colours of a scale.
const SHADES: usize = 64;

impl Colours {
    /// The colours of the bar from left to right. Each has its upper end, as a part of the greatest number. The ends grow with
    /// the square of the step, because otherwise small values would look alike beside a few large ones.
    fn shades(self) -> Vec<(Colour, f64)> {
        let (gradient, low) = match self {
            Colours::Sequential => (colorous::YELLOW_ORANGE_BROWN, 0.0),
            Colours::LowerIsBetter | Colours::HigherIsBetter => (colorous::RED_BLUE, -1.0),
        };
        let shade = |step: usize| {
            let root = low + (1.0 - low) * (step as f64 + 0.5) / SHADES as f64;
            let place = match self {
                Colours::LowerIsBetter => SHADES - step,
                Colours::Sequential | Colours::HigherIsBetter => step,
            };
            let (red, green, blue) = gradient.eval_rational(place, SHADES + 1).as_tuple();
            (RGBColor(red, green, blue), root * root.abs())
        };
        (0..=SHADES).map(shade).collect()
    }

    /// The colours as the page needs them: each colour, the colour of letters on it, and its upper end.
    pub(crate) fn for_page(self) -> Vec<(String, String, f64)> {
        let hex = |RGBColor(red, green, blue): Colour| format!("#{red:02x}{green:02x}{blue:02x}");
        let in_hex = |(shade, end)| (hex(shade), hex(contrasting(shade)), end);
        self.shades().into_iter().map(in_hex).collect()
    }
}

impl ColourScale {
    pub(crate) fn new(
        name: &str,
        unit: &str,
        colours: Colours,
        values: impl Iterator<Item = f64>,
    ) -> ColourScale {
        ColourScale {
            name: name_with_unit(name, unit),
            max: values.map(f64::abs).fold(0.0, f64::max),
            colours,
        }
    }

    pub(crate) fn shows_differences(&self) -> bool {
        self.colours != Colours::Sequential
    }

    pub(crate) fn colour(&self, value: f64) -> Colour {
        // A metric that is zero everywhere has no greatest value to compare with.
        let part = quotient(value, self.max).unwrap_or(0.0);
        let shades = self.colours.shades();
        let shade = shades.iter().find(|(_, end)| part < *end);
        shade.unwrap_or(&shades[SHADES]).0
    }

    /// Draws the bar. Numbers grow to the right, whether that is better or worse. Returns how far down the labels reach.
    pub(crate) fn draw(&self, canvas: &mut Canvas, area: Rect) -> f64 {
        let (direction, ends) = match self.colours {
            Colours::Sequential => ("", vec![0.0, self.max]),
            Colours::LowerIsBetter => (": better ← → worse", vec![-self.max, 0.0, self.max]),
            Colours::HigherIsBetter => (": worse ← → better", vec![-self.max, 0.0, self.max]),
        };
        let is_empty = self.shows_differences() && self.max == 0.0;
        let name = match is_empty {
            true => format!("{}: no cell has a colour", self.name),
            false => format!("{} (square-root scale){direction}", self.name),
        };
        let style = Lettering::new(TICK);
        let fitting = style.fitting([&name], area.width);
        canvas.text((area.x, area.y + 11.0), &name, &fitting);
        if is_empty {
            return area.y + 30.0;
        }
        // Labels at the ends stick out by half their width.
        let bar = Rect::new(area.x + 28.0, area.y + 28.0, area.width - 56.0, 20.0);
        for (step, (shade, _)) in self.colours.shades().into_iter().enumerate() {
            canvas.fill(bar.column(step, SHADES + 1, 0.0), shade);
        }
        canvas.outline(bar, grey(0x80));
        let centred = style.aligned(HPos::Center);
        for (index, value) in ends.iter().enumerate() {
            let label = match self.shows_differences() {
                true => with_plus(*value, short(*value)),
                false => short(*value),
            };
            let x = bar.x + bar.width * index as f64 / (ends.len() - 1) as f64;
            canvas.line((x, bar.bottom()), (x, bar.bottom() + 5.0), grey(0x40), 1);
            canvas.text((x, bar.bottom() + 16.0), &label, &centred);
        }
        bar.bottom() + 30.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::colour::{FAINT_INK, luminance};

    fn scale(max: f64, colours: Colours) -> ColourScale {
        ColourScale::new("slow polls", "%", colours, [max].into_iter())
    }

    #[test]
    fn the_greatest_value_has_the_last_colour_and_small_ones_differ() {
        let scale = scale(62.0, Colours::Sequential);
        let shades = Colours::Sequential.shades();
        let step = |value: f64| {
            let mut shades = shades.iter();
            shades.position(|(shade, _)| *shade == scale.colour(value))
        };
        assert_eq!([0.0, 62.0].map(step), [Some(0), Some(SHADES)]);
        assert!(step(1.0) > Some(5) && step(2.0) > step(1.0));
    }

    #[test]
    fn a_metric_that_is_zero_everywhere_has_a_colour() {
        let nothing = scale(0.0, Colours::HigherIsBetter);
        let (middle, _) = Colours::HigherIsBetter.shades()[SHADES / 2];
        assert_eq!(nothing.colour(0.0), middle);
    }

    #[test]
    fn blue_is_better_whichever_way_that_is() {
        let fewer = scale(10.0, Colours::LowerIsBetter).colour(-8.0);
        assert!(fewer.2 > fewer.0);
        let more = scale(10.0, Colours::HigherIsBetter).colour(8.0);
        assert_eq!(fewer, more);
        let worse = scale(10.0, Colours::HigherIsBetter).colour(-8.0);
        assert!(worse.0 > worse.2);
    }

    #[test]
    fn the_page_has_the_colours_of_the_pictures() {
        for colours in [Colours::Sequential, Colours::HigherIsBetter] {
            let (scale, page) = (scale(100.0, colours), colours.for_page());
            for value in (-100..=100).map(f64::from) {
                let shade = page.iter().find(|shade| value / 100.0 < shade.2);
                let (colour, ..) = shade.or(page.last()).expect("a colour");
                let RGBColor(red, green, blue) = scale.colour(value);
                assert_eq!(
                    *colour,
                    format!("#{red:02x}{green:02x}{blue:02x}"),
                    "{value}"
                );
            }
        }
    }

    #[test]
    fn a_value_is_darker_the_further_it_is_from_zero() {
        let light = |colours: Colours| -> Vec<f64> {
            let shades = colours.shades().into_iter();
            shades.map(|(shade, _)| luminance(shade)).collect()
        };
        let is_falling = |light: &[f64]| light.windows(2).all(|two| two[1] <= two[0] + 0.01);
        assert!(is_falling(&light(Colours::Sequential)));
        let mut differences = light(Colours::HigherIsBetter);
        assert!(is_falling(&differences[SHADES / 2..]));
        differences.reverse();
        assert!(is_falling(&differences[SHADES / 2..]));
    }

    #[test]
    fn text_can_be_read_on_every_shade() {
        // The contrast is 1 if there is none, and at most 21.
        let contrast = |one: Colour, other: Colour| {
            let (one, other) = (luminance(one), luminance(other));
            (one.max(other) + 0.05) / (one.min(other) + 0.05)
        };
        for colours in [Colours::Sequential, Colours::HigherIsBetter] {
            for (shade, _) in colours.shades() {
                assert!(contrast(shade, contrasting(shade)) >= 4.0, "{shade:?}");
            }
        }
        assert!(contrast(FAINT_INK, grey(0xe4)) >= 4.5);
    }
}
