//! Turns numbers into colours, and draws the bar that shows which colour is which number.

use plotters::style::RGBColor;

use crate::{
    charts::{
        draw::{
            Canvas, Colour, Lettering, Rect, SHADES, contrasting, diverging, fitting, grey,
            sequential, width_of,
        },
        parts::frame::TICK,
        view::{ColourScale, Colours, with_unit},
    },
    text::{short, with_plus},
};

pub(crate) const HEIGHT: f64 = 78.0;
const BAR_HEIGHT: f64 = 20.0;

/// The colours of levels, and those of changes from worse to better; each with that of letters on it.
pub(crate) fn shades_of_page() -> [Vec<[String; 2]>; 2] {
    let hex = |RGBColor(red, green, blue): Colour| format!("#{red:02x}{green:02x}{blue:02x}");
    let scales = [Colours::Sequential, Colours::HigherIsBetter].map(Colours::shades);
    scales.map(|shades| {
        let shades = shades.into_iter();
        let with_ink = shades.map(|shade| [shade, contrasting(shade)].map(hex));
        with_ink.collect()
    })
}

impl Colours {
    fn shades(self) -> Vec<Colour> {
        let first = self.first_place();
        let place = |step: usize| first + (1.0 - first) * step as f64 / SHADES as f64;
        (0..=SHADES)
            .map(|step| self.colour_at(place(step)))
            .collect()
    }

    fn first_place(self) -> f64 {
        match self {
            Colours::Sequential => 0.0,
            Colours::LowerIsBetter | Colours::HigherIsBetter => -1.0,
        }
    }

    fn colour_at(self, place: f64) -> Colour {
        match self {
            Colours::Sequential => sequential(place),
            Colours::LowerIsBetter => diverging(-place),
            Colours::HigherIsBetter => diverging(place),
        }
    }
}

impl ColourScale {
    pub(crate) fn colour(&self, value: f64) -> Colour {
        self.colours.colour_at(self.place(value))
    }

    /// Draws the bar. Numbers grow to the right, whether that is better or worse.
    pub(crate) fn draw(&self, canvas: &mut Canvas, area: Rect) {
        let name = self.legend();
        let size = fitting([name.as_str()], area.width, TICK, false);
        canvas.text((area.x, area.y + TICK), &name, &Lettering::new(size));
        // The label at the end sticks out by half its width.
        let bar = Rect::new(area.x, area.y + 28.0, area.width - 28.0, BAR_HEIGHT);
        let shades = self.colours.shades();
        for (step, shade) in shades.iter().enumerate() {
            canvas.fill(bar.column(step, shades.len(), 0.0), *shade);
        }
        canvas.outline(bar, grey(0x80));
        let first = self.colours.first_place();
        let mut free_until = f64::INFINITY;
        // Labels that would touch are left out, the greatest last.
        for (place, label) in self.ticks().into_iter().rev() {
            let half = width_of(&label, TICK, false) / 2.0;
            let x = bar.x + bar.width * (place - first) / (1.0 - first);
            if x + half > free_until {
                continue;
            }
            free_until = x - half - TICK / 2.0;
            canvas.line((x, bar.bottom()), (x, bar.bottom() + 5.0), grey(0x40), 1);
            let below = (x, bar.bottom() + 22.0);
            canvas.text(below, &label, &Lettering::new(TICK).centred());
        }
    }

    /// The place of a number on the bar: 1 for the greatest, 0 for zero, −1 for the greatest difference below
    /// zero.
    fn place(&self, value: f64) -> f64 {
        // A metric that is zero everywhere has no greatest value to compare with.
        let part = match self.max > 0.0 {
            true => (value.abs() / self.max).min(1.0),
            false => 0.0,
        };
        // Small values would look alike beside a few large ones.
        part.sqrt().copysign(value).max(self.colours.first_place())
    }

    fn legend(&self) -> String {
        let name = with_unit(&self.name, &self.unit);
        let direction = match self.colours {
            Colours::Sequential => "",
            Colours::LowerIsBetter => ": better ← → worse",
            Colours::HigherIsBetter => ": worse ← → better",
        };
        format!("{name} (square-root scale){direction}")
    }

    /// Places and labels of zero, the greatest, and round values about evenly spread between them; of differences to
    /// both sides.
    fn ticks(&self) -> Vec<(f64, String)> {
        let is_difference = self.colours != Colours::Sequential;
        let count = if is_difference { 3 } else { 5 };
        let between = (1..count).map(|index| {
            let part = f64::from(index) / f64::from(count);
            one_digit(self.max * part * part)
        });
        let mut values = vec![0.0];
        for value in between.chain([self.max]).filter(|value| *value > 0.0) {
            values.extend(is_difference.then_some(-value));
            values.push(value);
        }
        values.sort_by(f64::total_cmp);
        let tick = |value| {
            let label = match is_difference {
                true => with_plus(value, short(value)),
                false => short(value),
            };
            (self.place(value), label)
        };
        values.into_iter().map(tick).collect()
    }
}

fn one_digit(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    (value / power).round() * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(max: f64, colours: Colours) -> ColourScale {
        ColourScale {
            name: "slow polls".to_owned(),
            unit: "%".to_owned(),
            max,
            colours,
        }
    }

    fn labels(scale: &ColourScale) -> Vec<String> {
        scale.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn places_grow_from_zero_to_the_greatest() {
        let scale = scale(62.0, Colours::Sequential);
        assert_eq!((scale.place(0.0), scale.place(62.0)), (0.0, 1.0));
        let place = |value| scale.place(f64::from(value));
        assert!((0..62).all(|value| place(value) < place(value + 1)));
    }

    #[test]
    fn ticks_are_round_and_end_with_the_greatest() {
        let values = scale(62.0, Colours::Sequential);
        assert_eq!(labels(&values), ["0", "2", "10", "20", "40", "62"]);
        let differences = scale(10.0, Colours::LowerIsBetter);
        let symmetric = ["−10", "−4", "−1", "0", "+1", "+4", "+10"];
        assert_eq!(labels(&differences), symmetric);
    }

    #[test]
    fn a_metric_that_is_zero_everywhere_has_a_colour_and_a_tick() {
        let nothing = scale(0.0, Colours::Sequential);
        assert_eq!(nothing.place(0.0), 0.0);
        assert_eq!(labels(&nothing), ["0"]);
    }

    #[test]
    fn blue_is_better_whichever_way_that_is() {
        let fewer = scale(10.0, Colours::LowerIsBetter).colour(-8.0);
        assert!(fewer.2 > fewer.0);
        let more = scale(10.0, Colours::HigherIsBetter).colour(8.0);
        assert_eq!(fewer, more);
    }
}
