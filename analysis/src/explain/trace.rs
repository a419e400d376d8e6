//! The slowest polls in the Chrome trace event format, which the Perfetto UI and the Firefox Profiler open.
//!
//! Every poll has a track of its own and begins at zero there, so that they lie side by side; when it really
//! began is among its arguments. A variant is a process.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use super::worst::{Worst, label};
use crate::load::explain::tables::Stretch;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    display_time_unit: &'static str,
    trace_events: Vec<Event>,
}

#[derive(Serialize)]
struct Event {
    name: String,
    ph: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<String>,
    pid: usize,
    tid: u64,
    /// In µs, as is the duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    args: Value,
}

/// None without any poll.
pub(crate) fn of(
    cell: &str,
    worst: &[Worst],
    labels: &[(usize, String)],
) -> Result<Option<Vec<u8>>> {
    if worst.is_empty() {
        return Ok(None);
    }
    let mut events = Vec::new();
    let mut variants: Vec<usize> = worst.iter().map(|poll| poll.variant).collect();
    variants.dedup();
    for variant in variants {
        let name = format!("{cell}, {}: slowest polls", label(labels, variant));
        events.push(metadata(
            "process_name",
            variant,
            0,
            json!({ "name": name }),
        ));
        events.push(metadata(
            "process_sort_index",
            variant,
            0,
            json!({ "sort_index": variant }),
        ));
    }
    for poll in worst {
        let name = format!("#{}: {:.0} µs, slice {}", poll.rank, poll.us(), poll.slice);
        events.push(metadata(
            "thread_name",
            poll.variant,
            poll.rank,
            json!({ "name": name }),
        ));
        events.push(metadata(
            "thread_sort_index",
            poll.variant,
            poll.rank,
            json!({ "sort_index": poll.rank }),
        ));
        events.push(complete(poll, poll.poll));
        // Already by time, and what holds others before what it holds.
        events.extend(poll.inside.iter().map(|stretch| complete(poll, stretch)));
    }
    let trace = Trace {
        display_time_unit: "ns",
        trace_events: events,
    };
    Ok(Some(serde_json::to_vec(&trace)?))
}

/// Processes are counted from 1, since 0 is the kernel's idle one.
fn pid(variant: usize) -> usize {
    variant + 1
}

fn metadata(name: &str, variant: usize, tid: u64, args: Value) -> Event {
    Event {
        name: name.to_owned(),
        ph: "M",
        cat: None,
        pid: pid(variant),
        tid,
        ts: None,
        dur: None,
        args,
    }
}

fn complete(poll: &Worst, stretch: &Stretch) -> Event {
    let us = |ns: u64| ns as f64 / 1000.0;
    let name = if stretch.child.is_empty() {
        stretch.site.function().to_owned()
    } else {
        stretch.child.clone()
    };
    let mut args = serde_json::Map::new();
    args.insert("site".to_owned(), json!(stretch.site.name()));
    args.insert("start_ms".to_owned(), json!(stretch.start_ns as f64 / 1e6));
    for (key, value) in [
        ("iteration", stretch.iteration.map(Value::from)),
        ("iterations", stretch.iterations.map(Value::from)),
        ("outcome", stretch.outcome.clone().map(Value::from)),
    ] {
        if let Some(value) = value {
            args.insert(key.to_owned(), value);
        }
    }
    Event {
        name,
        ph: "X",
        cat: Some(stretch.site.name().to_owned()),
        pid: pid(poll.variant),
        tid: poll.rank,
        ts: Some(us(stretch.start_ns.saturating_sub(poll.poll.start_ns))),
        dur: Some(us(stretch.duration_ns)),
        args: Value::Object(args),
    }
}
