//! The precision of sweeps of other lengths is expected from the committed evidence.

use std::collections::BTreeMap;
use std::fs;

/// `BLESS=1 cargo test -p latency-benchmark --test all expected_precision` writes the file.
#[test]
fn the_expected_precision_is_that_of_the_evidence() {
    const QUANTITIES: [(&str, &str, &str); 4] = [
        ("beyond_ms_per_s", "connection", "time beyond the threshold"),
        ("requests_per_s", "", "throughput"),
        ("cpu_us_per_request", "", "CPU time per request"),
        (
            "cotenant_p90_us",
            "",
            "wake-up latency of another task (p90)",
        ),
    ];
    let mut table = csv::Reader::from_path("evidence/summary.csv").unwrap();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let baseline = &rows[0][3];
    let mut text = "quantity,rtt_ms,half_width_percent\n".to_owned();
    for (metric, site, quantity) in QUANTITIES {
        let mut value = f64::NAN;
        let mut of_rtt: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for row in rows
            .iter()
            .filter(|row| (&row[5], &row[4]) == (metric, site))
        {
            if &row[3] == baseline {
                value = row[6].parse().unwrap_or(f64::NAN);
            }
            if let (Ok(low), Ok(high)) = (row[10].parse::<f64>(), row[11].parse::<f64>()) {
                let width = 100.0 * (high - low) / 2.0 / value;
                let widths = of_rtt.entry(row[1].to_owned()).or_default();
                widths.extend(width.is_finite().then_some(width));
            }
        }
        for (rtt_ms, mut widths) in of_rtt {
            widths.sort_by(f64::total_cmp);
            if let Some(median) = widths.get(widths.len() / 2) {
                text += &format!("{quantity},{rtt_ms},{median:.2}\n");
            }
        }
    }
    let file = "src/sweep/expected_precision.csv";
    if std::env::var_os("BLESS").is_some() {
        fs::write(file, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(file).unwrap_or_default(), text);
}
