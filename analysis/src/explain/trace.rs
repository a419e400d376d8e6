//! The slowest polls in the Chrome trace event format, which the Perfetto UI and the Firefox Profiler open.
//!
//! Every poll has its own track and begins at zero there, so that polls can be compared. Its real start is among its
//! arguments. A variant is a process.

use anyhow::Result;
use run_format::evidence::TimelineRow;
use serde_json::{Value, json};

use super::{Explanation, worst::WorstPoll};
use crate::site::SiteNames;

pub(super) fn json(cell: &str, worst: &[WorstPoll], explained: &Explanation) -> Result<Vec<u8>> {
    let mut events = Vec::new();
    let mut name_track = |what: &str, variant: usize, rank: usize, name: String, index: usize| {
        for (key, args) in [
            ("name", json!({ "name": name })),
            ("sort_index", json!({ "sort_index": index })),
        ] {
            let (pid, name) = (pid(variant), format!("{what}_{key}"));
            events.push(json!({ "name": name, "ph": "M", "pid": pid, "tid": rank, "args": args }));
        }
    };
    let mut variants: Vec<usize> = worst.iter().map(|poll| poll.variant).collect();
    variants.dedup();
    for variant in variants {
        let name = format!("{cell}, {}: slowest polls", explained.label(variant));
        name_track("process", variant, 0, name, variant);
    }
    for poll in worst {
        let name = format!("#{}: {:.0} µs, slice {}", poll.rank, poll.us(), poll.slice);
        name_track("thread", poll.variant, poll.rank, name, poll.rank);
    }
    for poll in worst {
        // Already sorted by time, with an outer part before its inner parts.
        let stretches = [poll.poll].into_iter().chain(poll.inside.iter().copied());
        events.extend(stretches.map(|stretch| complete(poll, stretch, &explained.sites)));
    }
    let trace = json!({ "displayTimeUnit": "ns", "traceEvents": events });
    Ok(serde_json::to_vec(&trace)?)
}

/// Processes are counted from 1, since 0 is the kernel's idle process.
fn pid(variant: usize) -> usize {
    variant + 1
}

fn complete(poll: &WorstPoll, stretch: &TimelineRow, sites: &SiteNames) -> Value {
    let us = |ns: u64| ns as f64 / 1000.0;
    let child = stretch.child.as_deref();
    let name = child.unwrap_or_else(|| sites.function(stretch.site));
    let mut args = json!({
        "site": stretch.site.name(),
        "start_ms": stretch.start_ns as f64 / 1e6,
    });
    for (key, value) in [
        ("iteration", stretch.iteration.map(Value::from)),
        ("iterations", stretch.iterations.map(Value::from)),
        ("outcome", stretch.outcome.clone().map(Value::from)),
    ] {
        if let Some(value) = value {
            args[key] = value;
        }
    }
    json!({
        "name": name,
        "ph": "X",
        "cat": stretch.site.name(),
        "pid": pid(poll.variant),
        "tid": poll.rank,
        "ts": us(stretch.start_ns.saturating_sub(poll.poll.start_ns)),
        "dur": us(stretch.duration_ns),
        "args": args,
    })
}
