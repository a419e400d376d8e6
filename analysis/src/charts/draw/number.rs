//! Numbers as a reader wants them: three significant digits, and a minus that is one.

const MINUS: char = '−';
const THIN_SPACE: char = '\u{2009}';

/// "13.6", "−0.41", "0".
pub(crate) fn number(value: f64) -> String {
    rounded(value, decimals_for(value))
}

/// Without zeros that say nothing on an axis: "62" and not "62.0".
pub(crate) fn short(value: f64) -> String {
    let text = number(value);
    if text.contains('.') && text.ends_with('0') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// The same with its sign even when it is positive.
pub(crate) fn short_signed(value: f64) -> String {
    with_plus(value, short(value))
}

/// A share in percent, without the sign, in as few digits as tell something.
pub(crate) fn percent(value: f64) -> String {
    rounded(value, usize::from(value < 9.95))
}

/// A value no finer than its interval allows, and the interval: "±1.1" where both sides are alike,
/// else "11–14".
pub(crate) fn estimate(value: f64, interval: Option<(f64, f64)>) -> (String, Option<String>) {
    let Some((low, high)) = interval else {
        return (number(value), None);
    };
    let half = (high - low) / 2.0;
    let decimals = match (value == 0.0, half > 0.0) {
        (false, true) => decimals_in_cell(value).min(telling(half)),
        (true, true) => telling(half),
        (_, false) => decimals_in_cell(value),
    };
    let (below, above) = (value - low, high - value);
    let ends = if (above - below).abs() <= 0.2 * half {
        format!("±{}", margin(half, decimals))
    } else {
        range(low, high, decimals)
    };
    (rounded(value, decimals), Some(ends))
}

/// The same for a difference: with its sign even when it is positive.
pub(crate) fn signed_estimate(
    value: f64,
    interval: Option<(f64, f64)>,
) -> (String, Option<String>) {
    let (text, ends) = estimate(value, interval);
    (with_plus(value, text), ends)
}

/// Large numbers in full, with their digits in groups.
pub(crate) fn grouped(value: f64, decimals: usize) -> String {
    if value.abs() < 10_000.0 {
        return rounded(value, decimals);
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(THIN_SPACE);
        }
        text.push(digit);
    }
    with_sign(value, text)
}

/// An interval that is far finer than its value is told by its own first digit.
fn margin(half: f64, decimals: usize) -> String {
    let text = rounded(half, decimals);
    if half > 0.0 && is_zero(&text) {
        rounded(half, decimals_for(half).saturating_sub(2))
    } else {
        text
    }
}

/// Two digits of the greater end, one below 1, unless that makes both ends the same.
fn range(low: f64, high: f64, decimals: usize) -> String {
    let greater = low.abs().max(high.abs());
    let dropped = if greater < 1.0 { 2 } else { 1 };
    let coarse = decimals.min(decimals_for(greater).saturating_sub(dropped));
    let decimals = if rounded(low, coarse) == rounded(high, coarse) {
        decimals
    } else {
        coarse
    };
    // A dash beside a minus would be hard to read.
    let between = if low < 0.0 { ".." } else { "–" };
    format!(
        "{}{between}{}",
        rounded(low, decimals),
        rounded(high, decimals)
    )
}

/// The Particle Data Group's rule: two digits of an uncertainty that starts with 1 to 3.5, else one.
fn telling(half: f64) -> usize {
    let leading = half / 10_f64.powf(half.log10().floor());
    let digits_less = if leading < 3.55 { 1 } else { 2 };
    decimals_for(half).saturating_sub(digits_less)
}

/// Thousandths are for what is smaller than a tenth.
fn decimals_in_cell(value: f64) -> usize {
    let decimals = decimals_for(value);
    if value.abs() >= 0.1 {
        decimals.min(2)
    } else {
        decimals
    }
}

fn decimals_for(value: f64) -> usize {
    if value == 0.0 {
        return 0;
    }
    // As it will be after rounding: 9.996 is 10.0 and not 10.00.
    let power = (value.abs() * 1.000_5).log10().floor() as i32;
    (2 - power).clamp(0, 6) as usize
}

/// Exactly zero has no decimals; what only rounds to it has, and no sign.
fn rounded(value: f64, decimals: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() >= 10_000.0 {
        return thousands(value);
    }
    let text = format!("{:.decimals$}", value.abs());
    if is_zero(&text) {
        text
    } else {
        with_sign(value, text)
    }
}

fn thousands(value: f64) -> String {
    let (divisor, letter) = match value.abs() {
        size if size >= 999_500_000.0 => (1e9, 'G'),
        size if size >= 999_500.0 => (1e6, 'M'),
        _ => (1e3, 'k'),
    };
    let short = value.abs() / divisor;
    with_sign(value, format!("{short:.*}{letter}", decimals_for(short)))
}

fn is_zero(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

fn with_sign(value: f64, size: String) -> String {
    if value < 0.0 {
        format!("{MINUS}{size}")
    } else {
        size
    }
}

fn with_plus(value: f64, text: String) -> String {
    if value > 0.0 && !is_zero(&text) {
        format!("+{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(value: f64, low: f64, high: f64) -> (String, String) {
        let (value, ends) = estimate(value, Some((low, high)));
        (value, ends.expect("there is an interval"))
    }

    fn both(value: &str, ends: &str) -> (String, String) {
        (value.to_owned(), ends.to_owned())
    }

    #[test]
    fn three_significant_digits() {
        let expected = [
            (13.64, "13.6"),
            (2.7, "2.70"),
            (0.4123, "0.412"),
            (0.012_34, "0.0123"),
            (123.4, "123"),
            (1234.0, "1234"),
            (9.996, "10.0"),
            (99.97, "100"),
            (12_345.0, "12.3k"),
            (2_500_000.0, "2.50M"),
        ];
        for (value, text) in expected {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn zero_is_short_and_minus_is_a_minus() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(-0.0), "0");
        assert_eq!(number(-10.9), "−10.9");
        assert_eq!(short_signed(10.9), "+10.9");
        assert_eq!(short_signed(0.0), "0");
        assert_eq!(
            [short(62.0), short(2.5), short(100.0)],
            ["62", "2.5", "100"]
        );
    }

    #[test]
    fn a_value_is_no_finer_than_its_interval() {
        assert_eq!(ends(12.3, 11.2, 13.4), both("12.3", "±1.1"));
        assert_eq!(ends(2.7, 2.4, 3.0), both("2.70", "±0.30"));
        assert_eq!(ends(45.2, 30.2, 60.2), both("45", "±15"));
        assert_eq!(ends(-10.9, -11.6, -10.2), both("−10.9", "±0.7"));
        assert_eq!(ends(0.676, 0.629, 0.723), both("0.68", "±0.05"));
        assert_eq!(ends(0.003, -1.0, 1.006), both("0.0", "±1.0"));
        assert_eq!(ends(0.0, 0.0, 0.0), both("0", "±0"));
    }

    #[test]
    fn a_lopsided_interval_is_told_by_its_ends() {
        assert_eq!(ends(12.3, 11.2, 14.4), both("12.3", "11–14"));
        assert_eq!(ends(5.7, 5.13, 7.1), both("5.7", "5.1–7.1"));
        assert_eq!(ends(0.0, 0.0, 0.4), both("0", "0–0.4"));
        assert_eq!(ends(-1.2, -4.0, 0.5), both("−1.2", "−4.0..0.5"));
    }

    #[test]
    fn a_narrow_interval_is_not_said_to_be_nothing() {
        assert_eq!(ends(123.0, 122.98, 123.02), both("123", "±0.02"));
    }

    #[test]
    fn percent_is_short() {
        assert_eq!(
            [percent(84.4), percent(2.44), percent(0.0)],
            ["84", "2.4", "0"]
        );
    }

    #[test]
    fn a_large_number_in_full_is_grouped() {
        assert_eq!(grouped(1_250_000.0, 0), "1\u{2009}250\u{2009}000");
        assert_eq!(grouped(5000.0, 0), "5000");
    }
}
