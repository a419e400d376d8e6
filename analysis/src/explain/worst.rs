//! Shows the slowest polls, each with the sequence of what it polled, as a table and as a trace in the Chrome trace event
//! format. The Perfetto UI and the Firefox Profiler open such a trace.
//!
//! In the trace every poll has its own track and begins at zero there, so that polls can be compared. Its real start is
//! among its arguments. A variant is a process. A *stretch* is a row of the timeline: the poll itself, or a part of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::Result;
use run_format::{SliceRow, TimelineRow};
use serde_json::{Value, json};

use super::{Explanation, VariantKey};
use crate::load::CellEvidence;
use crate::text::{self, joined};

pub(crate) struct WorstPoll<'a> {
    pub(crate) variant: VariantKey,
    pub(crate) poll: &'a TimelineRow,
    /// The parts of the poll, at any depth, sorted by time.
    pub(crate) inside: Vec<&'a TimelineRow>,
}

/// The polls of all variants, by variant and rank. A poll is left out if the row of the poll itself is missing.
pub(crate) fn polls(evidence: &CellEvidence, subject: usize) -> Vec<WorstPoll<'_>> {
    let variant = |slice: &SliceRow| {
        let variant = slice.variant;
        (slice.slice, VariantKey { subject, variant })
    };
    let variants: BTreeMap<u32, VariantKey> = evidence.slices.iter().map(variant).collect();
    let mut polls: BTreeMap<(VariantKey, usize), Vec<&TimelineRow>> = BTreeMap::new();
    for stretch in &evidence.timeline {
        let key = (variants[&stretch.slice], stretch.rank);
        polls.entry(key).or_default().push(stretch);
    }
    let worst = |((variant, _), stretches)| WorstPoll::new(variant, stretches);
    polls.into_iter().filter_map(worst).collect()
}

impl<'a> WorstPoll<'a> {
    fn new(variant: VariantKey, mut stretches: Vec<&'a TimelineRow>) -> Option<WorstPoll<'a>> {
        stretches.sort_by_key(|stretch| (stretch.start_ns, stretch.depth));
        let index = stretches.iter().position(|stretch| stretch.depth == 0)?;
        let poll = stretches.remove(index);
        Some(WorstPoll {
            variant,
            poll,
            inside: stretches,
        })
    }

    pub(crate) fn us(&self) -> f64 {
        us(self.poll.duration_ns)
    }

    /// For each iteration, the children that took a noticeable part of the poll, in their order. An example is
    /// "1: `muxing.poll_unpin` 640 µs, `handler.poll` 120 µs; 2: …".
    pub(crate) fn words(&self) -> String {
        const NOTICEABLE: f64 = 0.03;
        const MOST_ITERATIONS: usize = 4;
        let least = NOTICEABLE * self.poll.duration_ns as f64;
        let mut by_iteration: BTreeMap<u32, Vec<&TimelineRow>> = BTreeMap::new();
        for stretch in &self.inside {
            let is_child = stretch.site == self.poll.site && stretch.child.is_some();
            if is_child && stretch.duration_ns as f64 >= least {
                let iteration = stretch.iteration.unwrap_or(0);
                by_iteration.entry(iteration).or_default().push(stretch);
            }
        }
        if by_iteration.is_empty() {
            return "no single part took long".to_owned();
        }
        let ns =
            |parts: &[&TimelineRow]| parts.iter().map(|stretch| stretch.duration_ns).sum::<u64>();
        // The iterations with the most time are kept, in their order.
        let mut iterations: Vec<(u32, Vec<&TimelineRow>)> = by_iteration.into_iter().collect();
        iterations.sort_by_key(|(_, parts)| Reverse(ns(parts)));
        iterations.truncate(MOST_ITERATIONS);
        iterations.sort_by_key(|(iteration, _)| *iteration);
        let name = |stretch: &&TimelineRow| {
            let child = stretch.child.as_deref().unwrap_or_default();
            format!("`{child}` {:.0} µs", us(stretch.duration_ns))
        };
        let mut words: Vec<String> = Vec::new();
        let mut rest = self.poll.duration_ns;
        for (iteration, parts) in iterations {
            rest = rest.saturating_sub(ns(&parts));
            words.push(format!(
                "{iteration}: {}",
                joined(parts.iter().map(name), ", ")
            ));
        }
        if rest as f64 >= least {
            words.push(format!("the rest {:.0} µs", us(rest)));
        }
        words.join("; ")
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

pub(super) fn csv(worst: &[WorstPoll], explanation: &Explanation) -> Result<Vec<u8>> {
    const HEAD: &str = "variant,rank,slice,start_ms,duration_us,outcome,iterations,timeline";
    let row = |worst: &WorstPoll| {
        let iterations = worst.poll.iterations.map(|count| count.to_string());
        [
            explanation.label(worst.variant).to_owned(),
            worst.poll.rank.to_string(),
            worst.poll.slice.to_string(),
            format!("{:.3}", worst.poll.start_ns as f64 / 1e6),
            format!("{:.3}", worst.us()),
            worst.poll.outcome.clone().unwrap_or_default().into_owned(),
            iterations.unwrap_or_default(),
            worst.words(),
        ]
    };
    text::csv(HEAD, worst.iter().map(row))
}

pub(super) fn trace(cell: &str, worst: &[WorstPoll], explanation: &Explanation) -> Result<Vec<u8>> {
    let mut events = Vec::new();
    let mut name_track = |what: &str, pid: usize, rank: usize, name: String, index: usize| {
        let track = |key: &str, args: Value| {
            let name = format!("{what}_{key}");
            json!({ "name": name, "ph": "M", "pid": pid, "tid": rank, "args": args })
        };
        events.push(track("name", json!({ "name": name })));
        events.push(track("sort_index", json!({ "sort_index": index })));
    };
    let mut variants: Vec<VariantKey> = worst.iter().map(|poll| poll.variant).collect();
    variants.dedup();
    for variant in variants {
        let name = format!("{cell}, {}: slowest polls", explanation.label(variant));
        let pid = pid(explanation, variant);
        name_track("process", pid, 0, name, pid);
    }
    for poll in worst {
        let (rank, slice) = (poll.poll.rank, poll.poll.slice);
        let name = format!("#{rank}: {:.0} µs, slice {slice}", poll.us());
        name_track("thread", pid(explanation, poll.variant), rank, name, rank);
    }
    for poll in worst {
        // The stretches are sorted by time already, an outer part before its inner parts.
        let stretches = [poll.poll].into_iter().chain(poll.inside.iter().copied());
        events.extend(stretches.map(|stretch| complete(poll, stretch, explanation)));
    }
    let trace = json!({ "displayTimeUnit": "ns", "traceEvents": events });
    Ok(serde_json::to_vec(&trace)?)
}

/// Processes are counted from 1, since 0 is the kernel's idle process.
fn pid(explanation: &Explanation, variant: VariantKey) -> usize {
    explanation.position(variant).map_or(0, |index| index + 1)
}

fn complete(poll: &WorstPoll, stretch: &TimelineRow, explanation: &Explanation) -> Value {
    let child = stretch.child.as_deref();
    let name = child.unwrap_or_else(|| explanation.sites.function(stretch.site));
    let arguments = [
        ("site", Some(stretch.site.name().into())),
        ("start_ms", Some((stretch.start_ns as f64 / 1e6).into())),
        ("iteration", stretch.iteration.map(Value::from)),
        ("iterations", stretch.iterations.map(Value::from)),
        ("outcome", stretch.outcome.clone().map(Value::from)),
    ];
    let known = arguments
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    json!({
        "name": name,
        "ph": "X",
        "cat": stretch.site.name(),
        "pid": pid(explanation, poll.variant),
        "tid": poll.poll.rank,
        "ts": us(stretch.start_ns.saturating_sub(poll.poll.start_ns)),
        "dur": us(stretch.duration_ns),
        "args": known.collect::<Value>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_format::Site;

    fn stretch(child: &str, iteration: u32, start_ns: u64, duration_ns: u64) -> TimelineRow {
        TimelineRow {
            slice: 1,
            rank: 1,
            site: Site::Connection,
            child: (!child.is_empty()).then(|| child.to_owned().into()),
            iteration: (iteration > 0).then_some(iteration),
            depth: u32::from(iteration > 0),
            start_ns,
            duration_ns,
            outcome: None,
            iterations: None,
        }
    }

    #[test]
    fn the_longest_of_many_iterations_are_named_in_their_order() {
        let mut rows = vec![stretch("", 0, 0, 1_000_000)];
        for iteration in 1..=6 {
            let ns = 40_000 + 10_000 * u64::from(iteration % 4);
            rows.push(stretch("a", iteration, 100_000 * u64::from(iteration), ns));
            rows.push(stretch(
                "short",
                iteration,
                100_000 * u64::from(iteration) + ns,
                29_000,
            ));
        }
        let poll =
            WorstPoll::new(VariantKey::BASELINE, rows.iter().collect()).expect("the poll is there");
        // 50, 60, 70, 40, 50 and 60 µs.
        assert_eq!(
            poll.words(),
            "1: `a` 50 µs; 2: `a` 60 µs; 3: `a` 70 µs; 6: `a` 60 µs; the rest 760 µs"
        );
    }

    #[test]
    fn a_poll_without_a_long_part_says_so() {
        let rows = [stretch("", 0, 0, 1_000_000), stretch("a", 1, 10, 20)];
        let poll =
            WorstPoll::new(VariantKey::BASELINE, rows.iter().collect()).expect("the poll is there");
        assert_eq!(poll.words(), "no single part took long");
        assert!(WorstPoll::new(VariantKey::BASELINE, vec![&rows[1]]).is_none());
    }
}
