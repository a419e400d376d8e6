//! Values to colours, and which values the legend names.

use crate::charts::{
    draw::{Colour, Tick, diverging, sequential, short, short_signed},
    view::{Better, ColourScale, DifferenceScale, Mapping, with_unit},
};

impl Mapping {
    /// A part of the greatest value as a part of the colours.
    fn there(self, part: f64) -> f64 {
        match self {
            Mapping::Linear => part,
            Mapping::SquareRoot => part.sqrt(),
        }
    }

    fn back(self, part: f64) -> f64 {
        match self {
            Mapping::Linear => part,
            Mapping::SquareRoot => part * part,
        }
    }

    fn named(self, what: String) -> String {
        match self {
            Mapping::Linear => what,
            Mapping::SquareRoot => format!("{what} (square-root scale)"),
        }
    }
}

impl ColourScale {
    pub(crate) fn colour(&self, value: f64) -> Colour {
        sequential(self.fraction(value))
    }

    /// 0 for zero and 1 for the greatest value.
    fn fraction(&self, value: f64) -> f64 {
        self.mapping.there(part_of(value, self.max))
    }

    pub(crate) fn legend(&self) -> String {
        self.mapping.named(with_unit(&self.name, &self.unit))
    }

    /// Between 0 and 1, where the bar has their colours.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        let zero = Tick {
            value: 0.0,
            label: short(0.0),
        };
        let rest = landmarks(self.max, self.mapping, 5);
        let rest = rest.into_iter().map(|value| Tick {
            value: self.fraction(value),
            label: short(value),
        });
        [zero].into_iter().chain(rest).collect()
    }
}

impl DifferenceScale {
    pub(crate) fn colour(&self, difference: f64) -> Colour {
        diverging(self.direction() * self.fraction(difference))
    }

    /// What is at a place of the bar, from −1 to 1.
    pub(crate) fn colour_at(&self, fraction: f64) -> Colour {
        diverging(self.direction() * fraction)
    }

    /// −1 and 1 for the greatest differences.
    fn fraction(&self, difference: f64) -> f64 {
        self.mapping
            .there(part_of(difference.abs(), self.limit))
            .copysign(difference)
    }

    fn direction(&self) -> f64 {
        match self.better {
            Better::Lower => -1.0,
            Better::Higher => 1.0,
        }
    }

    pub(crate) fn legend(&self) -> String {
        let (left, right) = match self.better {
            Better::Lower => ("better", "worse"),
            Better::Higher => ("worse", "better"),
        };
        let name = self.mapping.named(with_unit(&self.name, &self.unit));
        format!("{name}: {left} ← → {right}")
    }

    /// Between −1 and 1, where the bar has their colours.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        let mut values = landmarks(self.limit, self.mapping, 3);
        let mirrored: Vec<f64> = values.iter().rev().map(|value| -value).collect();
        values.splice(0..0, mirrored.into_iter().chain([0.0]));
        let tick = |value| Tick {
            value: self.fraction(value),
            label: short_signed(value),
        };
        values.into_iter().map(tick).collect()
    }
}

/// A metric that is zero everywhere has no greatest value to compare with.
fn part_of(value: f64, greatest: f64) -> f64 {
    if greatest > 0.0 {
        (value / greatest).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// Round values above zero, about evenly spread over the colours, and the greatest.
fn landmarks(greatest: f64, mapping: Mapping, count: u32) -> Vec<f64> {
    if greatest <= 0.0 {
        return Vec::new();
    }
    let between = (1..count).map(|index| f64::from(index) / f64::from(count));
    let round = between.map(|part| one_digit(greatest * mapping.back(part)));
    round.chain([greatest]).collect()
}

fn one_digit(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    (value / power).round() * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(mapping: Mapping) -> ColourScale {
        ColourScale {
            name: "slow polls".to_owned(),
            unit: "%".to_owned(),
            max: 62.0,
            mapping,
        }
    }

    fn differences(better: Better) -> DifferenceScale {
        DifferenceScale {
            name: "difference".to_owned(),
            unit: String::new(),
            limit: 10.0,
            mapping: Mapping::Linear,
            better,
        }
    }

    fn labels(ticks: Vec<Tick>) -> Vec<String> {
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn both_mappings_start_and_end_alike_and_grow() {
        for mapping in [Mapping::Linear, Mapping::SquareRoot] {
            let part = |value| scale(mapping).fraction(f64::from(value));
            assert_eq!((part(0), part(62)), (0.0, 1.0));
            assert!((0..62).all(|value| part(value) < part(value + 1)));
        }
        assert!(scale(Mapping::SquareRoot).fraction(6.2) > scale(Mapping::Linear).fraction(6.2));
    }

    #[test]
    fn ticks_are_round_and_end_with_the_greatest() {
        assert_eq!(
            labels(scale(Mapping::SquareRoot).ticks()),
            ["0", "2", "10", "20", "40", "62"]
        );
        let symmetric = ["−10", "−7", "−3", "0", "+3", "+7", "+10"];
        assert_eq!(labels(differences(Better::Lower).ticks()), symmetric);
    }

    #[test]
    fn a_metric_that_is_zero_everywhere_has_a_colour_and_a_tick() {
        let nothing = ColourScale {
            max: 0.0,
            ..scale(Mapping::Linear)
        };
        assert_eq!(nothing.fraction(0.0), 0.0);
        assert_eq!(labels(nothing.ticks()), ["0"]);
    }

    #[test]
    fn blue_is_better_whichever_way_that_is() {
        let fewer = differences(Better::Lower).colour(-8.0);
        assert!(fewer.2 > fewer.0);
        assert_eq!(fewer, differences(Better::Higher).colour(8.0));
    }
}
