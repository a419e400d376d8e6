//! The tables of evidence, as `EXPLAIN.md` describes them.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use polars::prelude::DataFrame;

use crate::{
    load::tables::{
        self, Columns,
        Kind::{Count, Text},
        counts, maybe_counts, maybe_words, words,
    },
    site::Site,
};

const STACKS: Columns = &[
    ("slice", Count, false),
    ("site", Text, true),
    ("child", Text, true),
    ("from_ns", Count, true),
    ("in_kernel", Text, false),
    ("stack", Text, true),
    ("samples", Count, false),
];

const ALLOCATIONS: Columns = &[
    ("slice", Count, false),
    ("site", Text, true),
    ("child", Text, true),
    ("from_ns", Count, true),
    ("polls", Count, true),
    ("objects", Count, false),
    ("bytes", Count, false),
];

const ALLOCATION_STACKS: Columns = &[
    ("slice", Count, false),
    ("site", Text, true),
    ("child", Text, true),
    ("stack", Text, true),
    ("samples", Count, false),
    ("objects", Count, false),
    ("bytes", Count, false),
];

const COUNTERS: Columns = &[
    ("slice", Count, false),
    ("scope", Text, false),
    ("site", Text, true),
    ("child", Text, true),
    ("from_ns", Count, true),
    ("counter", Text, false),
    ("count", Count, false),
];

const SYSTEM_CALLS: Columns = &[
    ("slice", Count, false),
    ("site", Text, true),
    ("child", Text, true),
    ("from_ns", Count, true),
    ("call", Text, false),
    ("calls", Count, false),
    ("ns", Count, false),
];

const TIMELINE: Columns = &[
    ("slice", Count, false),
    ("rank", Count, false),
    ("site", Text, false),
    ("child", Text, true),
    ("iteration", Count, true),
    ("depth", Count, false),
    ("start_ns", Count, false),
    ("duration_ns", Count, false),
    ("outcome", Text, true),
    ("iterations", Count, true),
];

const ACTIVITY: Columns = &[
    ("slice", Count, false),
    ("counter", Text, false),
    ("value", Count, true),
];

/// Where something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// None for what happened in no poll.
    pub(crate) site: Option<Site>,
    /// Empty for the poll function's own code.
    pub(crate) child: String,
    /// The band of the poll of `site` around; none in no poll.
    pub(crate) from_ns: Option<u64>,
}

impl Place {
    pub(crate) fn is_slow(&self, from_ns: u64) -> bool {
        self.from_ns.is_some_and(|it| it >= from_ns)
    }
}

/// What was sampled, by the stack.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) slice: u64,
    pub(crate) place: Place,
    pub(crate) in_kernel: bool,
    /// From the poll function inwards, separated by `;`.
    pub(crate) frames: String,
    pub(crate) samples: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    pub(crate) slice: u64,
    pub(crate) place: Place,
    /// Of the child, or of the site where the child is empty; none in no poll.
    pub(crate) polls: Option<u64>,
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct AllocationStack {
    pub(crate) slice: u64,
    pub(crate) site: Option<Site>,
    pub(crate) frames: String,
    /// That the samples stand for.
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
}

/// Of what a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Poll,
    /// All of central's threads over the whole slice.
    Process,
}

#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub(crate) slice: u64,
    pub(crate) scope: Scope,
    pub(crate) place: Place,
    pub(crate) counter: String,
    pub(crate) count: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct SystemCalls {
    pub(crate) slice: u64,
    pub(crate) place: Place,
    pub(crate) call: String,
    pub(crate) calls: u64,
    pub(crate) ns: u64,
}

/// A stretch of one of the slowest polls.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) slice: u64,
    pub(crate) rank: u64,
    pub(crate) site: Site,
    /// Empty for an invocation of the site.
    pub(crate) child: String,
    pub(crate) iteration: Option<u64>,
    pub(crate) depth: u64,
    pub(crate) start_ns: u64,
    pub(crate) duration_ns: u64,
    pub(crate) outcome: Option<String>,
    pub(crate) iterations: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Activity {
    pub(crate) slice: u64,
    pub(crate) counter: String,
    pub(crate) value: Option<u64>,
}

pub(super) fn stacks(path: &Path) -> Result<Vec<Stack>> {
    rows(path, STACKS, |frame| {
        let (slice, places) = (counts(frame, "slice")?, places(frame)?);
        let (frames, samples) = (maybe_words(frame, "stack")?, counts(frame, "samples")?);
        let in_kernel = words(frame, "in_kernel")?;
        let mut rows = Vec::with_capacity(slice.len());
        for (at, place) in places.into_iter().enumerate() {
            rows.push(Stack {
                slice: slice[at],
                place,
                in_kernel: match in_kernel[at].as_str() {
                    "true" => true,
                    "false" => false,
                    other => bail!("line {}: in_kernel is {other:?}, not true or false", at + 2),
                },
                frames: frames[at].clone().unwrap_or_default(),
                samples: samples[at],
            });
        }
        Ok(rows)
    })
}

pub(super) fn allocations(path: &Path) -> Result<Vec<Allocation>> {
    rows(path, ALLOCATIONS, |frame| {
        let (slice, polls) = (counts(frame, "slice")?, maybe_counts(frame, "polls")?);
        let (objects, bytes) = (counts(frame, "objects")?, counts(frame, "bytes")?);
        let row = |(at, place): (usize, Place)| Allocation {
            slice: slice[at],
            place,
            polls: polls[at],
            objects: objects[at],
            bytes: bytes[at],
        };
        Ok(places(frame)?.into_iter().enumerate().map(row).collect())
    })
}

pub(super) fn allocation_stacks(path: &Path) -> Result<Vec<AllocationStack>> {
    rows(path, ALLOCATION_STACKS, |frame| {
        let (slice, frames) = (counts(frame, "slice")?, maybe_words(frame, "stack")?);
        let (objects, bytes) = (counts(frame, "objects")?, counts(frame, "bytes")?);
        let row = |(at, site): (usize, Option<Site>)| AllocationStack {
            slice: slice[at],
            site,
            frames: frames[at].clone().unwrap_or_default(),
            objects: objects[at],
            bytes: bytes[at],
        };
        Ok(sites(frame)?.into_iter().enumerate().map(row).collect())
    })
}

pub(super) fn counters(path: &Path) -> Result<Vec<Counter>> {
    rows(path, COUNTERS, |frame| {
        let (slice, count) = (counts(frame, "slice")?, counts(frame, "count")?);
        let (scope, counter) = (words(frame, "scope")?, words(frame, "counter")?);
        let mut rows = Vec::with_capacity(slice.len());
        for (at, place) in places(frame)?.into_iter().enumerate() {
            rows.push(Counter {
                slice: slice[at],
                scope: match scope[at].as_str() {
                    "poll" => Scope::Poll,
                    "process" => Scope::Process,
                    other => bail!("line {}: unknown scope {other:?}", at + 2),
                },
                place,
                counter: counter[at].clone(),
                count: count[at],
            });
        }
        Ok(rows)
    })
}

pub(super) fn system_calls(path: &Path) -> Result<Vec<SystemCalls>> {
    rows(path, SYSTEM_CALLS, |frame| {
        let (slice, call) = (counts(frame, "slice")?, words(frame, "call")?);
        let (calls, ns) = (counts(frame, "calls")?, counts(frame, "ns")?);
        let row = |(at, place): (usize, Place)| SystemCalls {
            slice: slice[at],
            place,
            call: call[at].clone(),
            calls: calls[at],
            ns: ns[at],
        };
        Ok(places(frame)?.into_iter().enumerate().map(row).collect())
    })
}

pub(super) fn timeline(path: &Path) -> Result<Vec<Stretch>> {
    rows(path, TIMELINE, |frame| {
        let (slice, rank) = (counts(frame, "slice")?, counts(frame, "rank")?);
        let (sites, child) = (sites(frame)?, maybe_words(frame, "child")?);
        let iteration = maybe_counts(frame, "iteration")?;
        let (depth, start_ns) = (counts(frame, "depth")?, counts(frame, "start_ns")?);
        let duration_ns = counts(frame, "duration_ns")?;
        let (outcome, iterations) = (
            maybe_words(frame, "outcome")?,
            maybe_counts(frame, "iterations")?,
        );
        let row = |(at, site): (usize, Option<Site>)| {
            Ok(Stretch {
                slice: slice[at],
                rank: rank[at],
                site: site.ok_or_else(|| anyhow!("line {}: site is empty", at + 2))?,
                child: child[at].clone().unwrap_or_default(),
                iteration: iteration[at],
                depth: depth[at],
                start_ns: start_ns[at],
                duration_ns: duration_ns[at],
                outcome: outcome[at].clone(),
                iterations: iterations[at],
            })
        };
        sites.into_iter().enumerate().map(row).collect()
    })
}

pub(super) fn activity(path: &Path) -> Result<Vec<Activity>> {
    rows(path, ACTIVITY, |frame| {
        let (slice, value) = (counts(frame, "slice")?, maybe_counts(frame, "value")?);
        let counter = words(frame, "counter")?;
        let row = |(at, counter): (usize, String)| Activity {
            slice: slice[at],
            counter,
            value: value[at],
        };
        Ok(counter.into_iter().enumerate().map(row).collect())
    })
}

fn rows<T>(
    path: &Path,
    columns: Columns,
    make: impl FnOnce(&DataFrame) -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    let frame = tables::read(path, columns, false)?;
    make(&frame).with_context(|| path.display().to_string())
}

fn places(frame: &DataFrame) -> Result<Vec<Place>> {
    let (child, from_ns) = (
        maybe_words(frame, "child")?,
        maybe_counts(frame, "from_ns")?,
    );
    let place = |(at, site): (usize, Option<Site>)| Place {
        site,
        child: child[at].clone().unwrap_or_default(),
        from_ns: from_ns[at],
    };
    Ok(sites(frame)?.into_iter().enumerate().map(place).collect())
}

fn sites(frame: &DataFrame) -> Result<Vec<Option<Site>>> {
    let site = |(at, name): (usize, Option<String>)| {
        let parsed = name.map(|name| name.parse::<Site>()).transpose();
        parsed.map_err(|error| anyhow!("line {}: {error}", at + 2))
    };
    let names = maybe_words(frame, "site")?;
    names.into_iter().enumerate().map(site).collect()
}
