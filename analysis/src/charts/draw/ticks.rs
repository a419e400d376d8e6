//! The numbers that an axis shows.

use crate::text::grouped;

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

/// Powers of ten that enclose the range; if `fine`, also 2 and 5 times them.
pub(crate) fn logarithmic((low, high): (f64, f64), fine: bool) -> Vec<f64> {
    let factors: &[f64] = if fine { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let first = low.log10().floor() as i32;
    let last = high.log10().ceil() as i32;
    let all: Vec<f64> = (first..=last)
        .flat_map(|power| {
            factors
                .iter()
                .map(move |factor| factor * 10_f64.powi(power))
        })
        .collect();
    let from = all
        .iter()
        .rposition(|tick| *tick <= low * 1.000_001)
        .unwrap_or(0);
    let to = all
        .iter()
        .position(|tick| *tick >= high * 0.999_999)
        .unwrap_or(all.len() - 1);
    all[from..=to.max(from)].to_vec()
}

/// With as many decimals as neighbouring ticks need to differ.
pub(crate) fn label_of_tick(value: f64, step: f64) -> String {
    let decimals = (-(step * 1.000_001).log10().floor()).clamp(0.0, 6.0) as usize;
    grouped(value, decimals)
}

/// A tick on a logarithmic axis is as fine as its own size.
pub(crate) fn label_of_power(value: f64) -> String {
    label_of_tick(value, value)
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

    #[test]
    fn a_logarithmic_axis_encloses_the_range_tightly() {
        assert_eq!(
            logarithmic((3.0, 700.0), true),
            [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
        );
        assert_eq!(logarithmic((1.0, 100.0), false), [1.0, 10.0, 100.0]);
    }

    #[test]
    fn powers_are_named_by_their_own_size() {
        assert_eq!(
            [0.5, 1.0, 20.0, 50_000.0].map(label_of_power),
            ["0.5", "1", "20", "50\u{2009}000"]
        );
    }
}
