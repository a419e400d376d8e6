//! Numbers as people read them.

/// Three significant digits, a proper minus sign, and no exponent.
pub(crate) fn number(value: f64) -> String {
    let text = plain(value);
    match text.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None => text,
    }
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
    fn what_is_stored_has_four_digits() {
        assert_eq!(rounded(12.34567), 12.35);
        assert_eq!(rounded(-0.001_234_567), -0.001_235);
        assert_eq!(rounded(1_234_567.0), 1_235_000.0);
        assert_eq!(rounded(0.0), 0.0);
    }
}
