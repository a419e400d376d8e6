//! Formats numbers and words for people, in reports and in pictures.

use std::borrow::Cow;
use std::fmt::Display;
use std::time::{Duration, UNIX_EPOCH};

use run_format::Machine;

use crate::stats::{CONFIDENCE, Interval, MeanChange, Uncertain};

/// The number with three significant digits, a proper minus sign, and no exponent.
pub(crate) fn number(value: f64) -> String {
    fixed(value, decimals_for(value, 3))
}

/// A confidence in percent, with enough digits to differ from 100.
pub(crate) fn confidence(part: f64) -> String {
    fixed(100.0 * part, decimals_for(100.0 * (1.0 - part), 1).max(1))
}

/// The number with this many decimals and a proper minus sign. A value that rounds to zero has no sign.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(size) if is_zero(size) => size.to_owned(),
        Some(size) => format!("−{size}"),
        None => text,
    }
}

/// The number for the narrow space of a picture: three digits, two below 0.1, no zeros at the end, and k, M or G from 10,000
/// on. The page formats numbers in the same way, and has only numbers of [`rounded`].
pub(crate) fn short(value: f64) -> String {
    let value = rounded(value);
    let (divisor, letter) = match value.abs() {
        size if size >= 999_500_000.0 => (1e9, "G"),
        size if size >= 999_500.0 => (1e6, "M"),
        size if size >= 10_000.0 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let digits = if value.abs() < 0.1 { 2 } else { 3 };
    let scaled = value / divisor;
    without_zeros(fixed(scaled, decimals_for(scaled, digits))) + letter
}

/// Like [`short`], for the end of an interval: two digits if that is enough.
pub(crate) fn brief(value: f64) -> String {
    let value = rounded(value);
    match value.abs() < 99.5 {
        true => without_zeros(fixed(value, decimals_for(value, 2))),
        false => short(value),
    }
}

fn without_zeros(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

pub(crate) fn with_plus(value: f64, text: String) -> String {
    match value > 0.0 && !is_zero(&text) {
        true => format!("+{text}"),
        false => text,
    }
}

/// The number of decimals for this many significant digits of the rounded number: 9.996 becomes 10.0 and not 10.00.
pub(crate) fn decimals_for(value: f64, digits: i32) -> usize {
    const MOST: i32 = 6;
    if value == 0.0 {
        return 0;
    }
    let rounds_up_from = 1.0 - 0.5 * 10f64.powi(-digits);
    let magnitude = (value.abs() / rounds_up_from).log10().floor() as i32;
    (digits - 1 - magnitude).clamp(0, MOST) as usize
}

fn is_zero(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

/// The number with its unit, such as "12.3 µs". Without a unit the number alone.
pub(crate) fn with_unit(number: String, unit: &str) -> String {
    match unit {
        "" => number,
        unit => format!("{number} {unit}"),
    }
}

/// Whether an end of an interval is so far away that it says nothing.
pub(crate) fn is_far_away(end: f64) -> bool {
    end.is_nan() || end.abs() >= 1e6
}

/// A difference with its interval, such as "−7.91 pp [−8.31, −7.52]". The decimals show two digits of half the interval's
/// width. An end without a bound is a question mark.
pub(crate) fn with_signed_interval(value: f64, unit: &str, interval: Interval) -> String {
    with_interval(value, unit, interval, signed)
}

/// The interval of a difference alone, as [`with_signed_interval`] shows it.
pub(crate) fn signed_interval(value: f64, interval: Interval) -> String {
    let decimals = decimals_of_change(value, interval);
    in_brackets(interval, |end| signed(end, decimals))
}

fn signed(value: f64, decimals: usize) -> String {
    match is_far_away(value) {
        true => "?".to_owned(),
        false => with_plus(value, fixed(value, decimals)),
    }
}

/// A change with its 95 % interval, as [`with_signed_interval`] shows it.
pub(crate) fn uncertain(change: &Uncertain, unit: &str) -> String {
    with_signed_interval(change.value, unit, change.interval(CONFIDENCE))
}

pub(crate) fn mean_change(mean: &MeanChange, unit: &str) -> String {
    with_signed_interval(mean.value(), unit, mean.interval(CONFIDENCE))
}

/// A value that is not negative with its interval, formatted like a change. A share is at most 100 %.
pub(crate) fn level(value: f64, unit: &str, interval: Interval) -> String {
    let most = match unit.starts_with('%') {
        true => 100.0,
        false => f64::INFINITY,
    };
    with_interval(value, unit, interval, |value, decimals| {
        fixed(value.clamp(0.0, most), decimals)
    })
}

fn with_interval(
    value: f64,
    unit: &str,
    interval: Interval,
    number: impl Fn(f64, usize) -> String,
) -> String {
    let decimals = decimals_of_change(value, interval);
    let ends = in_brackets(interval, |end| number(end, decimals));
    format!("{} {ends}", with_unit(number(value, decimals), unit))
}

fn in_brackets(Interval { low, high }: Interval, number: impl Fn(f64) -> String) -> String {
    format!("[{}, {}]", number(low), number(high))
}

pub(crate) fn decimals_of_change(value: f64, Interval { low, high }: Interval) -> usize {
    let width = match (high - low).is_finite() {
        true => high - low,
        false => value.abs(),
    };
    decimals_for(width / 2.0, 2)
}

/// The number with the four significant digits that tables on disk have.
pub(crate) fn rounded(value: f64) -> f64 {
    const DIGITS: i32 = 4;
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let magnitude = value.abs().log10().floor() as i32;
    let shift = 10f64.powi((DIGITS - 1 - magnitude).abs());
    match magnitude < DIGITS {
        true => (value * shift).round() / shift,
        false => (value / shift).round() * shift,
    }
}

/// The text for a table on disk. A quote precedes text that spreadsheets would take for a formula.
pub(crate) fn not_a_formula(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@']) {
        true => format!("'{text}").into(),
        false => text.into(),
    }
}

/// A table on disk, in which no text is a formula. `head` has the names of the columns with commas between them.
pub(crate) fn csv<const N: usize>(
    head: &str,
    rows: impl IntoIterator<Item = [String; N]>,
) -> anyhow::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(head.split(','))?;
    for row in rows {
        let fields = row.iter().map(|field| match field.parse::<f64>() {
            Ok(_) => field.into(),
            Err(_) => not_a_formula(field),
        });
        csv.write_record(fields.map(Cow::into_owned))?;
    }
    Ok(csv.into_inner()?)
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The text as HTML. Only Markdown's bold and code are marked.
pub(crate) fn marked(text: &str) -> String {
    let (mut html, mut is_bold) = (String::new(), false);
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            html += &format!("<code>{}</code>", escaped(part));
            continue;
        }
        for (at, part) in part.split("**").enumerate() {
            if at > 0 {
                html += if is_bold { "</b>" } else { "<b>" };
                is_bold = !is_bold;
            }
            html += &escaped(part);
        }
    }
    html
}

pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// A number of things, such as "1 cell" or "2 cells".
pub(crate) fn count(number: impl Display, what: &str) -> String {
    match number.to_string() {
        one if one == "1" => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// The items without repetitions, each at its first place.
pub(crate) fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

pub(crate) fn joined(items: impl IntoIterator<Item = impl Display>, separator: &str) -> String {
    let texts: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    texts.join(separator)
}

/// Like [`joined`], but None if there are no items.
pub(crate) fn joined_any(
    items: impl IntoIterator<Item = impl Display>,
    separator: &str,
) -> Option<String> {
    Some(joined(items, separator)).filter(|text| !text.is_empty())
}

/// The text as code. It has no backquotes inside, which would end the code.
pub(crate) fn quoted(text: impl Display) -> String {
    let plain = text.to_string().replace(char::is_control, " ");
    format!("`{}`", plain.replace('`', "'"))
}

pub(crate) fn duration(ns: u64) -> String {
    const NS_PER_MS: u64 = 1_000_000;
    match ns {
        ..NS_PER_MS => format!("{} µs", short(ns as f64 / 1e3)),
        _ => format!("{} ms", short(ns as f64 / 1e6)),
    }
}

pub(crate) fn date(unix_s: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_secs(unix_s);
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

/// A duration in words, such as "8.0 hours" or "36 s".
pub(crate) fn lasting(seconds: f64) -> String {
    const MINUTE_S: f64 = 60.0;
    const HOUR_S: f64 = 3600.0;
    match seconds {
        long if long >= 2.0 * HOUR_S => format!("{:.1} hours", long / HOUR_S),
        long if long >= 2.0 * MINUTE_S => format!("{:.0} minutes", long / MINUTE_S),
        short => format!("{short:.0} s"),
    }
}

/// A machine in words, such as "2 cores of …, Linux 6.8".
pub(crate) fn machine(machine: &Machine) -> String {
    let cores = machine
        .cores
        .map_or_else(String::new, |cores| format!("{cores} cores of "));
    let cpu = machine.cpu.as_deref().unwrap_or("an unknown CPU");
    let kernel = machine
        .kernel
        .as_deref()
        .map_or_else(String::new, |kernel| format!(", Linux {kernel}"));
    format!("{cores}{cpu}{kernel}")
}

/// The name of a machine, or its description if no name was recorded.
pub(crate) fn host(machine: &Machine) -> String {
    let host = machine.host.clone();
    host.unwrap_or_else(|| self::machine(machine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_confidence_is_rounded_to_certainty() {
        let shown = [0.95, 0.9975, 1.0 - 0.05 / 108.0].map(confidence);
        assert_eq!(shown, ["95.0", "99.8", "99.95"]);
    }

    #[test]
    fn numbers_have_three_digits_and_a_minus_sign() {
        let expected = [
            (0.0, "0"),
            (-0.0, "0"),
            (12.345, "12.3"),
            (2.7, "2.70"),
            (-0.01234, "−0.0123"),
            (123_456.0, "123456"),
        ];
        for (value, text) in expected {
            assert_eq!(number(value), text);
        }
        assert_eq!(
            [1.0, -1.0, 0.0, 1e-9].map(|value| with_plus(value, number(value))),
            ["+1.00", "−1.00", "0", "0.000000"]
        );
    }

    #[test]
    fn html_in_a_text_is_escaped() {
        assert_eq!(
            marked("**`<script>` helps** & `a**b`"),
            "<b><code>&lt;script&gt;</code> helps</b> &amp; <code>a**b</code>"
        );
    }

    #[test]
    fn rounding_up_to_another_digit_adds_no_fourth_one() {
        assert_eq!(
            [9.996, 99.97, 0.09996, -9.996].map(number),
            ["10.0", "100", "0.100", "−10.0"]
        );
        assert_eq!([9.994, 99.94].map(number), ["9.99", "99.9"]);
    }

    #[test]
    fn numbers_in_pictures_are_short() {
        assert_eq!(
            [
                9999.0,
                12_345.0,
                2_500_000.0,
                -999_600.0,
                12.0,
                0.0,
                0.123_456,
                0.012_34
            ]
            .map(short),
            ["9999", "12.3k", "2.5M", "−1M", "12", "0", "0.123", "0.012"]
        );
        assert_eq!(
            [9.96, -0.514, 3.0, 12.34, -234.5, -10_500.0].map(brief),
            ["10", "−0.51", "3", "12", "−234", "−10.5k"]
        );
    }

    #[test]
    fn a_change_is_no_finer_than_its_interval_is_wide() {
        let within = |low, high| Interval { low, high };
        assert_eq!(
            with_signed_interval(-7.9123, "pp", within(-8.31, -7.52)),
            "−7.91 pp [−8.31, −7.52]"
        );
        assert_eq!(
            with_signed_interval(-0.00487, "%", within(-0.697, 0.328)),
            "0.00 % [−0.70, +0.33]"
        );
        assert_eq!(
            with_signed_interval(20.0, "%", within(f64::NEG_INFINITY, 300.0)),
            "+20 % [?, +300]"
        );
    }

    #[test]
    fn no_end_of_a_level_is_one_that_no_level_has() {
        let interval = Interval {
            low: -10.0,
            high: 110.0,
        };
        assert_eq!(
            level(50.0, "% of packets", interval),
            "50 % of packets [0, 100]"
        );
        assert_eq!(level(50.0, "ms", interval), "50 ms [0, 110]");
    }

    #[test]
    fn no_text_of_a_table_is_a_formula() {
        for text in ["=1+1", "+a", "-a", "@SUM(A1)"] {
            assert_eq!(not_a_formula(text), format!("'{text}"));
            let table = csv("text", [[text.to_owned()]]).expect("a table");
            assert_eq!(table, format!("text\n'{text}\n").into_bytes());
        }
        for text in ["muxer=1/deferred", "-1.5"] {
            let table = csv("text", [[text.to_owned()]]).expect("a table");
            assert_eq!(table, format!("text\n{text}\n").into_bytes());
        }
    }

    #[test]
    fn tables_on_disk_have_four_digits() {
        assert_eq!(rounded(12.34567), 12.35);
        assert_eq!(rounded(-0.001_234_567), -0.001_235);
        assert_eq!(rounded(1_234_567.0), 1_235_000.0);
        assert_eq!(rounded(0.0), 0.0);
    }
}
