//! Converts numbers to pixels.

use super::{
    font::width_of,
    text::widest,
    ticks::{self, label_of_tick},
};

/// A named place on an axis.
#[derive(Clone, Debug)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// A scale along one side of a plot; the pixels may go up or down.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    pixels: (f64, f64),
    pub(crate) ticks: Vec<Tick>,
}

impl Axis {
    /// From the first tick to the last, one for about every `spacing` pixels.
    pub(crate) fn linear(range: (f64, f64), pixels: (f64, f64), spacing: f64) -> Self {
        let at_most = ((pixels.1 - pixels.0).abs() / spacing) as usize;
        let values = ticks::linear(room(range), at_most.max(2));
        let step = values[1] - values[0];
        let range = (values[0], values[values.len() - 1]);
        let tick = |value| Tick {
            value,
            label: label_of_tick(value, step),
        };
        Self::with_ticks(values.into_iter().map(tick).collect(), range, pixels)
    }

    /// With the caller's own ticks.
    pub(crate) fn with_ticks(
        ticks: Vec<Tick>,
        (low, high): (f64, f64),
        pixels: (f64, f64),
    ) -> Self {
        Self {
            low,
            high,
            pixels,
            ticks,
        }
    }

    pub(crate) fn position(&self, value: f64) -> f64 {
        let part = (value - self.low) / (self.high - self.low);
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }

    /// The width that the labels of a vertical axis need beside the plot.
    pub(crate) fn label_width(&self, size: f64) -> f64 {
        widest(
            self.ticks.iter().map(|tick| tick.label.as_str()),
            size,
            false,
        )
    }

    /// The ticks of a horizontal axis without those whose labels would touch, the last one first.
    pub(crate) fn labels_with_room(&self, size: f64) -> Vec<&Tick> {
        let mut kept: Vec<&Tick> = Vec::new();
        let mut free_until = f64::INFINITY;
        for tick in self.ticks.iter().rev() {
            let half = width_of(&tick.label, size, false) / 2.0;
            let at = self.position(tick.value);
            if at + half <= free_until {
                free_until = at - half - size * 0.5;
                kept.push(tick);
            }
        }
        kept
    }
}

/// From the least to the greatest number that has to be visible.
pub(crate) fn extent(parts: impl IntoIterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    parts
        .into_iter()
        .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}

/// An empty range gets some room around it.
fn room((low, high): (f64, f64)) -> (f64, f64) {
    if high > low {
        return (low, high);
    }
    let around = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
    (low - around, high + around)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_reaches_around_everything_on_it() {
        let axis = Axis::linear((0.3, 13.6), (200.0, 0.0), 40.0);
        let (least, greatest) = (axis.position(0.3), axis.position(13.6));
        assert!(0.0 <= greatest && greatest < least && least <= 200.0);
    }

    #[test]
    fn a_single_value_is_not_on_the_edge() {
        let axis = Axis::linear((5.0, 5.0), (0.0, 100.0), 20.0);
        assert!((1.0..99.0).contains(&axis.position(5.0)));
    }

    #[test]
    fn labels_that_would_touch_are_left_out() {
        let ticks = [0.0, 0.1, 5.0].map(|value| Tick {
            value,
            label: "99.99".to_owned(),
        });
        let axis = Axis::with_ticks(ticks.to_vec(), (0.0, 5.0), (0.0, 300.0));
        assert_eq!(axis.labels_with_room(17.0).len(), 2);
    }
}
