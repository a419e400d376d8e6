//! Numbers from the bottom of a plot to its top.

use plotters::coord::{
    ranged1d::{BoldPoints, Ranged},
    types::RangedCoordf64,
};

use super::canvas::Rect;
use crate::text::{decimals_for, fixed};

pub(crate) struct Axis {
    plot: Rect,
    low: f64,
    high: f64,
    pub(crate) ticks: Vec<(f64, String)>,
}

const TICK_SPACING: f64 = 33.0;
/// Between the outermost values and the ends of the axis, as a part of it.
const ROOM: f64 = 0.05;

impl Axis {
    pub(crate) fn around(values: impl Iterator<Item = f64>, plot: Rect) -> Axis {
        let (low, high) = values
            .map(|value| (value, value))
            .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
            .unwrap_or((0.0, 1.0));
        let room = match (high - low, low) {
            (0.0, 0.0) => 1.0,
            (0.0, level) => 0.1 * level.abs(),
            (length, _) => ROOM * length,
        };
        // Nothing is below zero where no value is.
        let is_from_zero = low == 0.0 && high > 0.0;
        let low = if is_from_zero { low } else { low - room };
        let high = high + room;
        let most = (plot.height / TICK_SPACING).max(2.0) as usize;
        let ticks = RangedCoordf64::from(low..high).key_points(BoldPoints(most));
        let step = ticks.windows(2).next().map_or(1.0, |two| two[1] - two[0]);
        let decimals = decimals_for(step, 1);
        let label = |tick: f64| (tick, fixed(tick, decimals));
        Axis {
            plot,
            low,
            high,
            ticks: ticks.into_iter().map(label).collect(),
        }
    }

    pub(crate) fn y(&self, value: f64) -> f64 {
        let part = (value - self.low) / (self.high - self.low);
        self.plot.bottom() - part * self.plot.height
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64]) -> Axis {
        let plot = Rect::new(0.0, 0.0, 100.0, 200.0);
        Axis::around(values.iter().copied(), plot)
    }

    #[test]
    fn ticks_are_round_and_no_value_is_outside() {
        let labels = |values: &[f64]| -> Vec<String> {
            let ticks = axis(values).ticks.into_iter();
            ticks.map(|(_, label)| label).collect()
        };
        assert_eq!(labels(&[0.0, 13.6]), ["0", "5", "10"]);
        assert_eq!(labels(&[-0.04, 0.11]), ["0.00", "0.05", "0.10"]);
        let (low, high) = (axis(&[0.3, 13.6]).y(0.3), axis(&[0.3, 13.6]).y(13.6));
        assert!(0.0 < high && high < low && low < 200.0);
    }

    #[test]
    fn a_single_value_is_not_on_the_edge() {
        for value in [0.0, 5.0, -3.0] {
            let axis = axis(&[value]);
            assert!((1.0..199.0).contains(&axis.y(value)) && !axis.ticks.is_empty());
        }
    }
}
