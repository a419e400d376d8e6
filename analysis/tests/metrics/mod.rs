//! The table of metrics is whole, and METRICS.md is made from it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use super::Metric;
use crate::metrics::{Better, ReportPart};

/// `BLESS=1` writes the document anew.
#[test]
fn the_document_has_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("METRICS.md");
    if env::var_os("BLESS").is_some() {
        fs::write(&file, document()).expect("it can be written");
    }
    let written = fs::read_to_string(file).expect("it is committed");
    assert_eq!(
        written,
        document(),
        "`BLESS=1` with this test writes it anew"
    );
}

#[test]
fn every_metric_says_what_it_is() {
    let mut names = BTreeSet::new();
    for metric in Metric::ALL {
        let info = metric.info();
        for text in [info.name, info.words, info.unit, info.formula_words] {
            assert!(!text.is_empty(), "{metric:?}");
        }
        assert!(info.says.ends_with('.'), "{metric:?}: {}", info.says);
        assert!(info.scale > 0.0, "{metric:?}");
        assert!(names.insert(info.name), "{} twice", info.name);
        // Both tables have the same order.
        let key = format!("{metric:?}").to_lowercase();
        assert_eq!(key, info.name.replace('_', ""));
        assert_eq!(info.name.parse(), Ok(*metric));
    }
}

#[test]
fn every_quantity_of_a_search_is_one_of_verdicts() {
    for metric in Metric::shown_in(ReportPart::Search) {
        assert!(metric.info().verdict.is_some(), "{metric:?}");
    }
}

fn document() -> String {
    let mut text = String::from(
        "# The metrics\n\n\
         The rows of `summary.csv` have these names in the column `metric`. Option `--metric` of `analysis report` accepts them. \
         A metric of a site has one row for each site; a metric of the worker has an empty `site`. Metrics of QUIC exist where \
         the nodes speak QUIC. Ratios are of sums over slices. `--threshold` sets the threshold, which is 50 µs otherwise. \
         [METHODS.md](METHODS.md) says how intervals are made.\n\n\
         This file is made from the table in `src/metrics/metrics.json`. After a change there, \
         `BLESS=1 cargo test -p analysis the_document_has_the_table` writes it anew.\n\n\
         | name | what it says | formula | unit | of | better | margin |\n|---|---|---|---|---|---|---|\n",
    );
    for metric in Metric::ALL {
        let info = metric.info();
        let of = match (metric.is_by_site(), metric.is_of_quic()) {
            (true, _) => "site",
            (_, true) => "QUIC",
            _ => "worker",
        };
        let better = match info.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Neither => "neither",
        };
        let margin = info.verdict.as_ref().map_or_else(String::new, |verdict| {
            let unit = metric.unit_of_mean_change();
            format!("{}={}{unit}", verdict.option, verdict.margin)
        });
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {of} | {better} | {margin} |",
            info.name, info.says, info.formula_words, info.unit
        );
    }
    text
}
