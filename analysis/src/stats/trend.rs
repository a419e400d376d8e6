//! The long-term trend of a series: its slope, and how far noise alone could have moved it.
//!
//! The slope is Sen's, which a single wild value does not move. Neighbours resemble each other, which makes noise look like a
//! trend. So the interval is as wide as that of an autoregressive process with the same correlation. `METHODS.md` has the
//! formulas.

use super::mean::median_of_sorted;
use super::student::critical;
use super::variance::Interval;

/// Kendall's test needs six values.
const FEWEST: usize = 6;

/// The slope is the median over all pairs. In a longer series, neighbours are averaged until it has this length.
const MOST: usize = 720;

/// The highest correlation that is assumed, because a series with a correlation of one cannot be distinguished from a trend.
const LONGEST_MEMORY: f64 = 0.99;

/// The relative error that rounding leaves in a number.
const ROUNDING: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trend {
    /// The median of the slopes between all pairs, by unit of time.
    pub(crate) slope: f64,
    pub(crate) interval: Interval,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Trend {
    /// The growth relative to the first value. None if that is not positive.
    pub(crate) fn growth(&self) -> Option<f64> {
        (self.from > 0.0).then(|| self.to / self.from - 1.0)
    }

    pub(crate) fn is_beyond_noise(&self) -> bool {
        !self.interval.covers(0.0)
    }
}

/// The trend of a series of times and values, with a confidence such as 0.95. None if there are fewer than six, or if times
/// are not in ascending order.
pub(crate) fn trend(series: &[(f64, f64)], confidence: f64) -> Option<Trend> {
    let series = no_longer_than(MOST, series);
    if series.len() < FEWEST || !series.windows(2).all(|pair| pair[0].0 < pair[1].0) {
        return None;
    }
    let slopes = slopes(&series);
    let slope = median_of_sorted(&slopes);
    let values: Vec<f64> = series.iter().map(|(_, value)| *value).collect();
    let memory = match never_turns(&values, confidence) {
        true => 0.0,
        false => memory(&residuals(&values)),
    };
    // The variance of Kendall's score, which is the number of pairs that go up less the number of those that go down.
    let count = values.len() as f64;
    let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0;
    let widening = (1.0 + memory) / (1.0 - memory);
    let deviation = (variance * widening).sqrt();
    // Correlated values are as good as fewer independent ones, which give the degrees of freedom.
    let freedom = (count / widening - 2.0).max(1.0);
    let levels = series.iter().map(|(time, value)| value - slope * time);
    let level = median_of_sorted(&sorted(levels.collect()));
    let on_line = |(time, _): (f64, f64)| level + slope * time;
    Some(Trend {
        slope,
        interval: between_ranks(&slopes, critical(freedom, confidence) * deviation),
        from: on_line(series[0]),
        to: on_line(series[series.len() - 1]),
    })
}

fn no_longer_than(most: usize, series: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let neighbours = series.len().div_ceil(most).max(1);
    let average = |part: &[(f64, f64)]| {
        let time: f64 = part.iter().map(|(time, _)| time).sum();
        let value: f64 = part.iter().map(|(_, value)| value).sum();
        (time / part.len() as f64, value / part.len() as f64)
    };
    series.chunks(neighbours).map(average).collect()
}

fn slopes(series: &[(f64, f64)]) -> Vec<f64> {
    let mut slopes = Vec::with_capacity(series.len() * (series.len() - 1) / 2);
    for (index, (time, value)) in series.iter().enumerate() {
        let later = series[index + 1..].iter();
        slopes.extend(later.map(|(then, other)| (other - value) / (then - time)));
    }
    sorted(slopes)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Sen's interval: the slopes that are half of `margin` ranks below and above the median. Chance alone changes Kendall's
/// score by this margin.
fn between_ranks(slopes: &[f64], margin: f64) -> Interval {
    let pairs = slopes.len() as f64;
    let end = |rank: f64, open: f64| {
        let slope = slopes.get(rank as usize).filter(|_| rank >= 0.0);
        slope.copied().unwrap_or(open)
    };
    Interval {
        low: end(((pairs - margin) / 2.0).floor() - 1.0, f64::NEG_INFINITY),
        high: end(((pairs + margin) / 2.0).ceil(), f64::INFINITY),
    }
}

/// Whether all steps go the same way, and too many of them for chance. A random walk can look like a curve, but its steps
/// rarely all go the same way: that is as likely as that as many coins all show the same side.
fn never_turns(values: &[f64], confidence: f64) -> bool {
    let up = values.windows(2).filter(|pair| pair[1] > pair[0]).count() as i32;
    let down = values.windows(2).filter(|pair| pair[1] < pair[0]).count() as i32;
    (up == 0 || down == 0) && 2.0 * 0.5_f64.powi(up + down) < 1.0 - confidence
}

/// The correlation of neighbours, at least zero. Around a fitted curve even independent values have a negative correlation of
/// about three divided by their number, which is corrected.
fn memory(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if squares == 0.0 {
        return 0.0;
    }
    let product = |pair: &[f64]| (pair[0] - mean) * (pair[1] - mean);
    let seen = values.windows(2).map(product).sum::<f64>() / squares;
    ((seen * count + 3.0) / (count - 5.0)).clamp(0.0, LONGEST_MEMORY)
}

/// The residuals around the best parabola, so that neither a trend nor its bend counts as correlation.
fn residuals(values: &[f64]) -> Vec<f64> {
    let count = values.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean_square = (count * count - 1.0) / 12.0;
    let line = |index: usize| index as f64 - middle;
    let bend = |index: usize| line(index).powi(2) - mean_square;
    let mean = values.iter().sum::<f64>() / count;
    // The three are orthogonal, so each is fitted by itself.
    let fit = |shape: &dyn Fn(usize) -> f64| {
        let numbered = values.iter().enumerate();
        let products = numbered.map(|(index, value)| shape(index) * value);
        let squares = (0..values.len()).map(|index| shape(index).powi(2));
        products.sum::<f64>() / squares.sum::<f64>()
    };
    let (by_line, by_bend) = (fit(&line), fit(&bend));
    let residual = |(index, value): (usize, &f64)| {
        value - mean - by_line * line(index) - by_bend * bend(index)
    };
    let largest = values
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    // Otherwise the rounding errors of a perfect curve would count as a series.
    let grain = (largest * ROUNDING).max(f64::MIN_POSITIVE);
    let residuals = values.iter().enumerate().map(residual);
    residuals
        .map(|residual| (residual / grain).round())
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn series(values: &[f64]) -> Vec<(f64, f64)> {
        let times = (0..values.len()).map(|index| index as f64);
        times.zip(values.iter().copied()).collect()
    }

    fn trend_of(values: &[f64]) -> Trend {
        trend(&series(values), 0.95).expect("enough values")
    }

    /// About normal values with a standard deviation of one, in which neighbours have the correlation `memory`.
    fn remembering(memory: f64, count: usize, rng: &mut StdRng) -> Vec<f64> {
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let mut value = normal();
        let mut next = || {
            value = memory * value + (1.0 - memory * memory).sqrt() * normal();
            value
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_line_has_its_slope_and_its_ends() {
        let line: Vec<f64> = (0..20)
            .map(|index| 100.0 + 2.5 * f64::from(index))
            .collect();
        let trend = trend_of(&line);
        assert!((trend.slope - 2.5).abs() < 1e-12);
        assert!((trend.from - 100.0).abs() < 1e-9 && (trend.to - 147.5).abs() < 1e-9);
        assert!((trend.growth().expect("a level") - 0.475).abs() < 1e-9);
        let Interval { low, high } = trend.interval;
        assert!((low - 2.5).abs() < 1e-9 && (high - 2.5).abs() < 1e-9);
    }

    #[test]
    fn a_constant_series_has_no_trend() {
        let trend = trend_of(&[7.0; 30]);
        assert_eq!(trend.slope, 0.0);
        assert!(!trend.is_beyond_noise());
        assert_eq!(trend_of(&[0.0; 30]).growth(), None);
    }

    #[test]
    fn one_wild_value_does_not_move_the_slope() {
        let mut values: Vec<f64> = (0..40).map(|index| f64::from(index % 3)).collect();
        values[39] = 1e9;
        assert!(!trend_of(&values).is_beyond_noise());
        assert_eq!(trend_of(&values).slope, 0.0);
    }

    #[test]
    fn a_falling_series_is_as_certain_as_a_rising_one() {
        let mut rng = StdRng::seed_from_u64(1);
        let noise = remembering(0.5, 50, &mut rng);
        let up: Vec<f64> = noise
            .iter()
            .enumerate()
            .map(|(index, noise)| noise + 0.1 * index as f64)
            .collect();
        let down: Vec<f64> = up.iter().map(|value| -value).collect();
        let (up, down) = (trend_of(&up), trend_of(&down));
        assert!((up.interval.low + down.interval.high).abs() < 1e-9);
        assert!((up.slope + down.slope).abs() < 1e-9);
    }

    #[test]
    fn a_trend_needs_six_values_in_ascending_order() {
        assert_eq!(trend(&series(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.95), None);
        let twice = [
            (0.0, 1.0),
            (1.0, 2.0),
            (1.0, 3.0),
            (2.0, 1.0),
            (3.0, 1.0),
            (4.0, 1.0),
        ];
        assert_eq!(trend(&twice, 0.95), None);
    }

    #[test]
    fn the_interval_of_the_slope_holds_the_truth_about_as_often_as_it_says() {
        let mut rng = StdRng::seed_from_u64(11);
        for memory in [0.0, 0.6] {
            let held = (0..300)
                .filter(|_| {
                    let noise = remembering(memory, 60, &mut rng);
                    let values = noise.iter().enumerate();
                    let values: Vec<f64> = values
                        .map(|(index, noise)| noise + 0.05 * index as f64)
                        .collect();
                    trend_of(&values).interval.covers(0.05)
                })
                .count();
            assert!(held >= 270, "{memory}: {held}");
        }
    }

    #[test]
    fn growth_that_bends_is_found() {
        let shapes: [fn(f64) -> f64; 4] = [
            |x| x * x,
            |x| x.sqrt(),
            |x| (x - 0.5).max(0.0),
            |x| 1.0 - (-4.0 * x).exp(),
        ];
        for (number, shape) in shapes.into_iter().enumerate() {
            let values: Vec<f64> = (0..60)
                .map(|index| shape(f64::from(index) / 60.0))
                .collect();
            let trend = trend(&series(&values), 0.999).expect("enough values");
            assert!(trend.is_beyond_noise(), "{number}: {trend:?}");
        }
    }

    #[test]
    fn a_saw_has_no_trend() {
        let saw: Vec<f64> = (0..60).map(|index| f64::from(index % 12)).collect();
        assert!(!trend_of(&saw).is_beyond_noise());
    }

    #[test]
    fn a_long_series_is_averaged_and_keeps_its_slope() {
        let mut rng = StdRng::seed_from_u64(3);
        let noise = remembering(0.9, 5_000, &mut rng);
        let values: Vec<f64> = noise
            .iter()
            .enumerate()
            .map(|(index, noise)| noise + 0.002 * index as f64)
            .collect();
        let trend = trend_of(&values);
        assert!(
            trend.is_beyond_noise() && trend.interval.covers(0.002),
            "{trend:?}"
        );
    }
}
