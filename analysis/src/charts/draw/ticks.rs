//! The numbers that an axis shows.

use crate::text::compact;

/// Multiples of a round step that enclose the range, with at most this many steps.
pub(crate) fn linear((low, high): (f64, f64), at_most: usize) -> Vec<f64> {
    let least = if high > low {
        high - low
    } else {
        low.abs().max(1.0)
    };
    let step = round_step(least, at_most.max(1));
    // A rounding error must not add a tick to a range that ends on one.
    let first = (low / step + 1e-9).floor() as i64;
    let last = (high / step - 1e-9).ceil() as i64;
    (first..=last.max(first + 1))
        .map(|index| index as f64 * step)
        .collect()
}

/// 1, 2 or 5 times a power of ten, such that the range has at most this many steps.
fn round_step(range: f64, at_most: usize) -> f64 {
    let least = range / at_most as f64;
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// With as many decimals as neighbouring ticks need to differ.
pub(crate) fn label_of_tick(value: f64, step: f64) -> String {
    let decimals = (-(step * 1.000_001).log10().floor()).clamp(0.0, 6.0) as usize;
    compact(value, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[f64]) -> Vec<String> {
        ticks
            .iter()
            .map(|tick| label_of_tick(*tick, ticks[1] - ticks[0]))
            .collect()
    }

    #[test]
    fn ticks_are_round_and_enclose_the_range() {
        assert_eq!(
            labels(&linear((0.0, 13.6), 8)),
            ["0", "2", "4", "6", "8", "10", "12", "14"]
        );
        assert_eq!(
            labels(&linear((-0.04, 0.11), 4)),
            ["−0.05", "0", "0.05", "0.10", "0.15"]
        );
    }

    #[test]
    fn a_range_that_ends_on_a_tick_has_none_beyond() {
        assert_eq!(linear((0.0, 10.0), 5).len(), 6);
    }

    #[test]
    fn a_range_of_nothing_still_has_two_ticks() {
        let ticks = linear((3.0, 3.0), 5);
        assert!(ticks.len() >= 2 && ticks[0] < ticks[1]);
    }
}
