//! Numbers as people read them.

/// Three significant digits, a proper minus sign, and no exponent.
pub(crate) fn number(value: f64) -> String {
    let text = plain(value);
    match text.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// A difference with its interval, no finer than that is wide: "−7.9 pp [−8.3, −7.5]". An end that the data
/// did not set is open.
pub(crate) fn change(value: f64, unit: &str, (low, high): (f64, f64)) -> String {
    let width = if (high - low).is_finite() {
        high - low
    } else {
        value.abs()
    };
    let decimals = decimals(width / 2.0);
    let text = |value: f64| {
        if !value.is_finite() {
            return "?".to_owned();
        }
        let text = format!("{value:+.decimals$}");
        // What rounds to zero has no sign.
        let is_zero = text.bytes().all(|byte| b"+-0.".contains(&byte));
        if is_zero {
            text.trim_start_matches(['+', '-']).to_owned()
        } else {
            text.replace('-', "−")
        }
    };
    format!("{} {unit} [{}, {}]", text(value), text(low), text(high))
}

/// A part of something with its interval: "4.1 pp [3.0, 5.2]".
pub(crate) fn part(value: f64, (low, high): (f64, f64)) -> String {
    change(value, "pp", (low, high)).replace('+', "")
}

/// How many decimals show two digits of a number.
fn decimals(value: f64) -> usize {
    const DIGITS: i32 = 2;
    if value <= 0.0 {
        return 0;
    }
    usize::try_from(DIGITS - 1 - value.log10().floor() as i32).unwrap_or(0)
}

/// With its sign, also if it is positive.
pub(crate) fn signed(value: f64) -> String {
    if value > 0.0 {
        format!("+{}", number(value))
    } else {
        number(value)
    }
}

/// Three significant digits in ASCII.
fn plain(value: f64) -> String {
    const DIGITS: i32 = 3;
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = usize::try_from(DIGITS - 1 - magnitude).unwrap_or(0);
    if magnitude < -4 {
        return "0.0000".to_owned();
    }
    format!("{value:.decimals$}")
}

/// What a table on disk holds: four significant digits, exact enough for whatever is made of it.
pub(crate) fn rounded(value: f64) -> f64 {
    const DIGITS: i32 = 4;
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let magnitude = value.abs().log10().floor() as i32;
    let shift = 10f64.powi((DIGITS - 1 - magnitude).abs());
    if magnitude < DIGITS {
        (value * shift).round() / shift
    } else {
        (value / shift).round() * shift
    }
}

/// As a sentence begins.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// "1 cell", "2 cells".
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {what}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_minus_sign() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(12.345), "12.3");
        assert_eq!(number(-0.01234), "−0.0123");
        assert_eq!(number(123_456.0), "123456");
        assert_eq!(signed(1.0), "+1.00");
        assert_eq!(signed(-1.0), "−1.00");
    }

    #[test]
    fn a_change_is_no_finer_than_its_interval_is_wide() {
        assert_eq!(
            change(-7.9123, "pp", (-8.31, -7.52)),
            "−7.91 pp [−8.31, −7.52]"
        );
        assert_eq!(
            change(-0.00487, "%", (-0.697, 0.328)),
            "0.00 % [−0.70, +0.33]"
        );
        assert_eq!(
            change(20.0, "%", (f64::NEG_INFINITY, 300.0)),
            "+20 % [?, +300]"
        );
    }

    #[test]
    fn a_part_has_no_sign() {
        assert_eq!(part(4.12, (3.04, 5.21)), "4.1 pp [3.0, 5.2]");
    }

    #[test]
    fn what_is_stored_has_four_digits() {
        assert_eq!(rounded(12.34567), 12.35);
        assert_eq!(rounded(-0.001_234_567), -0.001_235);
        assert_eq!(rounded(1_234_567.0), 1_235_000.0);
        assert_eq!(rounded(0.0), 0.0);
    }
}
