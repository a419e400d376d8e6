//! Text from outside, such as a commit's subject line or the name of a CPU, is data. In a report it cannot become
//! markup, a link, another line, or a command to a terminal. Numbers beyond what any measurement has are refused.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use run_format::files;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    tamed(files::read_versioned(path)?, path)
}

pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    tamed(files::read_json(path)?, path)
}

fn tamed<T: DeserializeOwned>(mut value: Value, path: &Path) -> Result<T> {
    tame("", &mut value)
        .and_then(|()| Ok(serde_json::from_value(value)?))
        .with_context(|| path.display().to_string())
}

/// Texts become plain. Refused are numbers and lists with which dates, loops over launches and sums of figures would not
/// come to an end.
fn tame(name: &str, value: &mut Value) -> Result<()> {
    /// The last second of the year 9999, after which dates have five digits.
    const LAST_SECOND: f64 = 253_402_300_799.0;
    const LARGEST: f64 = 1e15;
    const MOST_LAUNCHES: f64 = 100_000.0;
    const MOST_CELLS: usize = 100_000;
    match value {
        Value::String(text) => *text = plain(text),
        // A seed may be any whole number.
        Value::Number(number) if number.is_f64() || name != "seed" => {
            let most = match name {
                _ if name.ends_with("_unix_s") => LAST_SECOND,
                "repeat" => MOST_LAUNCHES,
                _ => LARGEST,
            };
            let size = number.as_f64().unwrap_or(f64::INFINITY).abs();
            ensure!(
                size <= most,
                "`{name}` is {number} (accepted: at most {most})"
            );
        }
        Value::Array(values) => values.iter_mut().try_for_each(|value| tame(name, value))?,
        Value::Object(fields) => {
            if name == "axes" {
                let lists = ["peers", "rtt_ms", "payload_bytes"].map(|axis| fields.get(axis));
                let lengths = lists.map(|list| list.and_then(Value::as_array).map_or(1, Vec::len));
                let cells = lengths.into_iter().fold(1, usize::saturating_mul);
                ensure!(
                    cells <= MOST_CELLS,
                    "`axes` have {cells} cells (accepted: at most {MOST_CELLS})"
                );
            }
            let mut fields = fields.iter_mut();
            fields.try_for_each(|(name, value)| tame(name, value))?;
        }
        Value::Number(_) | Value::Null | Value::Bool(_) => {}
    }
    Ok(())
}

/// The same in one line, without what Markdown, HTML and terminals take for their own.
fn plain(text: &str) -> String {
    const LONGEST: usize = 500;
    let letters = text.chars().map(|letter| match letter {
        '`' => '\'',
        '<' => '‹',
        '>' => '›',
        '|' => '¦',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ' ',
        letter if letter.is_control() => ' ',
        letter => letter,
    });
    let mut plain: String = letters.take(LONGEST).collect();
    for (active, inactive) in [("](", "] ("), ("://", ": //"), ("www.", "www .")] {
        plain = plain.replace(active, inactive);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_markup_is_text() {
        for (text, expected) in [
            ("AMD EPYC 7B13, 2.45 GHz", "AMD EPYC 7B13, 2.45 GHz"),
            ("<img src=x>|a`b`", "‹img src=x›¦a'b'"),
            ("![x](https://a.b)", "![x] (https: //a.b)"),
            ("one\n# two\u{1b}[2J", "one # two [2J"),
        ] {
            assert_eq!(plain(text), expected);
        }
        assert_eq!(plain(&"x".repeat(10_000)).len(), 500);
    }

    #[test]
    fn numbers_that_no_measurement_has_are_refused() {
        let refused = |text: &str| {
            let mut value: Value = serde_json::from_str(text).expect("it is JSON");
            tame("", &mut value).err().map(|error| error.to_string())
        };
        for (text, words) in [
            (
                r#"{"created_unix_s": 253402300800}"#,
                "`created_unix_s` is 253402300800",
            ),
            (
                r#"{"config": {"repeat": 1000000}}"#,
                "`repeat` is 1000000 (accepted: at most 100000)",
            ),
            (
                r#"{"checks": [{"probe_ns": 1e308}]}"#,
                "`probe_ns` is 1e+308",
            ),
        ] {
            let error = refused(text).expect("it is refused");
            assert!(error.starts_with(words), "{error}");
        }
        let many = vec!["1"; 400].join(",");
        let axes = format!(r#"{{"axes": {{"peers": [{many}], "rtt_ms": [{many}]}}}}"#);
        let error = refused(&axes).expect("it is refused");
        assert_eq!(error, "`axes` have 160000 cells (accepted: at most 100000)");
        let accepted = r#"{"seed": 18446744073709551615, "repeat": 8, "created_unix_s": 253402300799, "probe_ns": 31.5}"#;
        assert_eq!(refused(accepted), None);
    }
}
