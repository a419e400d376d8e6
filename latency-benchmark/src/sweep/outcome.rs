//! What is said of a run when it is over.

use run_format::{
    config::SweepConfig,
    protocol::BlockReport,
    run_row::{End, RunRow, Stop},
};

pub(super) fn outcome(row: &RunRow, block: Option<&BlockReport>, config: &SweepConfig) -> String {
    match &row.end {
        End::Invalid { reason } => format!("INVALID: {reason}"),
        End::Failed { stage, reason } => format!("FAILED while {stage}: {reason}"),
        End::Ok { stop } => {
            let stop = match stop {
                Stop::Precise => "precise",
                Stop::Cap => "at the cap",
                Stop::Interrupted => "interrupted",
            };
            let blocks = row.blocks.unwrap_or(0);
            let by_variant = |block| format!("{}; ", by_variant(block, config));
            let variants = block.map_or_else(String::new, by_variant);
            format!("{variants}{blocks} blocks, {stop}")
        }
    }
}

/// The share of slow polls, or the rate of requests where no poll is recorded.
fn by_variant(block: &BlockReport, config: &SweepConfig) -> String {
    let (before, unit, decimals, values) = if block.requests_per_s.is_empty() {
        ("slow: ", " %", 1, &block.slow_percent)
    } else {
        ("", "/s", 0, &block.requests_per_s)
    };
    let variants = config.variants.iter().zip(values);
    let texts: Vec<String> = variants
        .map(|(variant, value)| {
            let value = value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"));
            format!("{} {value}{unit}", variant.label)
        })
        .collect();
    format!("{before}{}", texts.join(", "))
}
