//! The numbers that files in JSON may have. With others, dates, loops over launches and sums would not come to an end.

use crate::MAX_PEERS;
use anyhow::{Result, ensure};
use serde_json::{Map, Value};

/// With larger ones, sums would be wrong.
pub(crate) const LARGEST: f64 = 1e15;

/// The most cells of a grid, visits of a cell and shards of a sweep.
const MOST: f64 = 100_000.0;
const MOST_LAUNCHES: f64 = 1_000_000.0;

/// Refuses numbers and lists beyond what any measurement has.
pub(crate) fn check(value: &Value) -> Result<()> {
    check_field("", value)
}

fn check_field(name: &str, value: &Value) -> Result<()> {
    /// The last second of the year 9999, after which dates have five digits.
    const LAST_SECOND: f64 = 253_402_300_799.0;
    /// Three years.
    const LONGEST_MS: f64 = 1e11;
    match value {
        // A seed may be any whole number.
        Value::Number(number) if number.is_f64() || name != "seed" => {
            let most = match name {
                "repeat" | "far_repeat" | "of" => MOST,
                "peers" => MAX_PEERS as f64,
                _ if name.ends_with("_unix_s") => LAST_SECOND,
                _ if name.ends_with("_ms") => LONGEST_MS,
                _ => LARGEST,
            };
            let size = number.as_f64().unwrap_or(f64::INFINITY).abs();
            ensure!(
                size <= most,
                "`{name}` is {number} (accepted: at most {most})"
            );
        }
        Value::Array(values) => values
            .iter()
            .try_for_each(|value| check_field(name, value))?,
        Value::Object(fields) => {
            let mut each = fields.iter();
            each.try_for_each(|(name, value)| check_field(name, value))?;
            check_grid(fields)?;
        }
        Value::Number(_) | Value::String(_) | Value::Null | Value::Bool(_) => {}
    }
    Ok(())
}

/// Of the configuration of a sweep.
fn check_grid(fields: &Map<String, Value>) -> Result<()> {
    let Some(axes) = fields.get("axes") else {
        return Ok(());
    };
    let length = |list: Option<&Value>| list.and_then(Value::as_array).map_or(1, Vec::len) as f64;
    let axis = |name| length(axes.get(name));
    let cells = axis("peers") * axis("rtt_ms") * axis("payload_bytes");
    let cells = cells.max(axis("only"));
    ensure!(
        cells <= MOST,
        "`axes` have {cells} cells (accepted: at most {MOST})"
    );
    let repeats = ["repeat", "far_repeat"].map(|name| fields.get(name).and_then(Value::as_f64));
    let repeats = repeats.into_iter().flatten().fold(1.0, f64::max);
    let launches = cells * repeats * length(fields.get("subjects")).max(1.0);
    ensure!(
        launches <= MOST_LAUNCHES,
        "`axes`, `repeat` and `subjects` are {launches} launches (accepted: at most {MOST_LAUNCHES})"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<String> {
        let value = serde_json::from_str(text).expect("it is JSON");
        check(&value).err().map(|error| error.to_string())
    }

    #[test]
    fn numbers_that_no_measurement_has_are_refused() {
        for (text, words) in [
            (
                r#"{"created_unix_s": 253402300800}"#,
                "`created_unix_s` is 253402300800",
            ),
            (
                r#"{"config": {"repeat": 1000000}}"#,
                "`repeat` is 1000000 (accepted: at most 100000)",
            ),
            (r#"{"far_repeat": 1000000}"#, "`far_repeat` is 1000000"),
            (r#"{"shard": {"index": 1, "of": 1e9}}"#, "`of` is"),
            (
                r#"{"axes": {"peers": [1, 251]}}"#,
                "`peers` is 251 (accepted: at most 250)",
            ),
            (
                r#"{"max_cell_ms": 1000000000000}"#,
                "`max_cell_ms` is 1000000000000",
            ),
            (
                r#"{"checks": [{"probe_ns": 1e308}]}"#,
                "`probe_ns` is 1e+308",
            ),
        ] {
            let error = refused(text).expect("it is refused");
            assert!(error.starts_with(words), "{error}");
        }
        let accepted = r#"{"seed": 18446744073709551615, "repeat": 8, "created_unix_s": 253402300799, "probe_ns": 31.5}"#;
        assert_eq!(refused(accepted), None);
    }

    #[test]
    fn grids_without_end_are_refused() {
        let many = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        let axes = format!(
            r#"{{"axes": {{"peers": {many}, "rtt_ms": {many}}}}}"#,
            many = many(400)
        );
        let only = format!(r#"{{"axes": {{"peers": [1], "only": {}}}}}"#, many(160_000));
        for text in [axes, only] {
            let error = refused(&text).expect("it is refused");
            assert_eq!(error, "`axes` have 160000 cells (accepted: at most 100000)");
        }
        let often = format!(r#"{{"axes": {{"peers": {}}}, "repeat": 90000}}"#, many(12));
        let error = refused(&often).expect("it is refused");
        assert!(error.contains("are 1080000 launches"), "{error}");
    }
}
