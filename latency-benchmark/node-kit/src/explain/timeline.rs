//! Keeps the slowest polls of connections, with all polls inside them.

use std::collections::BTreeMap;
use std::iter;

use anyhow::Result;
use node_ab::slices::{PollWithChildren, PollsWithChildren};
use poll_probe::{ChildPoll, Outcome};
use run_format::files::TIMELINE;
use run_format::{Site, SliceRow, TableWriters, TimelineRow};

/// The number of polls of each variant that are kept.
const KEPT: usize = 100;
/// The site whose polls happen inside polls of connections.
const INNER: Site = Site::Muxer;

pub(super) struct Timeline {
    outer: Site,
    /// The polls by variant, the slowest first. The first row of a poll is the poll itself.
    slowest: BTreeMap<usize, Vec<Vec<TimelineRow>>>,
}

impl Timeline {
    pub(super) fn new(outer: Site) -> Timeline {
        Timeline {
            outer,
            slowest: BTreeMap::new(),
        }
    }

    pub(super) fn keep(&mut self, slice: &SliceRow, polls: &PollsWithChildren) {
        let slowest = self.slowest.entry(slice.variant).or_default();
        for poll in polls.at_site(self.outer) {
            let slower = slowest.partition_point(|kept| kept[0].duration_ns >= poll.own_ns());
            if slower < KEPT {
                slowest.truncate(KEPT - 1);
                slowest.insert(slower, rows(slice, poll, polls));
            }
        }
    }

    pub(super) fn write(&self, tables: &mut TableWriters) -> Result<()> {
        let ranked = self.slowest.values().flat_map(|slowest| (1..).zip(slowest));
        let polls = ranked.flat_map(|(rank, rows)| iter::repeat(rank).zip(rows.iter().cloned()));
        let rows = polls.map(|(rank, row)| TimelineRow { rank, ..row });
        tables.rows(TIMELINE, rows)
    }
}

/// The poll, its children, and what these polled in turn. They are in the order in which they began. If two began at the
/// same time, the outer one is first.
fn rows(slice: &SliceRow, poll: &PollWithChildren, polls: &PollsWithChildren) -> Vec<TimelineRow> {
    let mut rows = invocation(slice, poll, 0);
    let inside = poll.start_ns..poll.end_ns();
    let inner = polls.at_site(INNER);
    let first = inner.partition_point(|inner| inner.start_ns < inside.start);
    let inner = inner[first..].iter();
    for inner in inner.take_while(|inner| inside.contains(&inner.start_ns)) {
        rows.extend(invocation(slice, inner, 2));
    }
    rows.sort_by_key(|row| (row.start_ns, row.depth));
    rows
}

fn invocation(slice: &SliceRow, poll: &PollWithChildren, depth: u32) -> Vec<TimelineRow> {
    let outcome = match poll.outcome {
        Outcome::Ready => "ready",
        Outcome::Pending => "pending",
        Outcome::Yielded => "yielded",
    };
    let row = TimelineRow {
        slice: slice.slice,
        rank: 0,
        depth,
        site: poll.site,
        child: None,
        iteration: None,
        start_ns: poll.start_ns,
        duration_ns: poll.own_ns(),
        outcome: Some(outcome.into()),
        iterations: poll.iterations,
    };
    let child = |child: &ChildPoll| TimelineRow {
        depth: depth + 1,
        child: Some(child.child.into()),
        iteration: Some(child.iteration),
        start_ns: poll.start_ns + child.offset_ns,
        duration_ns: child.own_ns(),
        outcome: None,
        iterations: None,
        ..row.clone()
    };
    let children = poll.children.iter().map(child);
    iter::once(row.clone()).chain(children).collect()
}
