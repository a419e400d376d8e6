//! Sums over the slices of one kind of evidence under one variant.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    load::explain::cell::{CellEvidence, Pass, Slice},
    measure::breakdown::OWN,
    site::Site,
};

/// Some slices of a launch.
pub(crate) struct Sums<'a> {
    evidence: &'a CellEvidence,
    slices: Vec<&'a Slice>,
    numbers: BTreeSet<u64>,
}

impl<'a> Sums<'a> {
    /// None where there is no such slice.
    pub(crate) fn of(
        evidence: &'a CellEvidence,
        passes: &[Pass],
        variant: usize,
    ) -> Option<Sums<'a>> {
        let is_one = |slice: &&Slice| slice.variant == variant && passes.contains(&slice.pass);
        let slices: Vec<&Slice> = evidence.slices.iter().filter(is_one).collect();
        let numbers = slices.iter().map(|slice| slice.number).collect();
        (!slices.is_empty()).then_some(Sums {
            evidence,
            slices,
            numbers,
        })
    }

    pub(crate) fn has(&self, slice: u64) -> bool {
        self.numbers.contains(&slice)
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.slices.iter().map(|it| it.duration_ms).sum::<f64>() / 1000.0
    }

    pub(crate) fn requests(&self) -> u64 {
        self.slices.iter().map(|it| it.requests).sum()
    }

    /// Polls of a site from this band on, and their time.
    pub(crate) fn polls(&self, site: Site, from_ns: u64) -> (u64, u64) {
        let bands = self.evidence.bands.iter();
        let bands =
            bands.filter(|it| it.site == site && it.from_ns >= from_ns && self.has(it.slice));
        bands.fold((0, 0), |(polls, ns), it| (polls + it.polls, ns + it.ns))
    }

    /// Polls of a site, and those of them that ended pending.
    pub(crate) fn ends(&self, site: Site) -> (u64, u64) {
        let ends = self.evidence.ends.iter();
        let ends = ends.filter(|it| it.site == site && self.has(it.slice));
        ends.fold((0, 0), |(polls, pending), it| {
            (polls + it.polls, pending + it.pending)
        })
    }

    /// The time of polls from this band on by child, the site's own code among them.
    pub(crate) fn child_ns(&self, site: Site, from_ns: u64) -> BTreeMap<String, f64> {
        let mut by_child: BTreeMap<String, f64> = BTreeMap::new();
        let children = self.evidence.children.iter();
        for it in children.filter(|it| it.site == site && it.from_ns >= from_ns) {
            if self.has(it.slice) {
                *by_child.entry(it.child.clone()).or_default() += it.ns as f64;
            }
        }
        if by_child.is_empty() {
            // Without children all time would look like the site's own.
            return by_child;
        }
        let inside: f64 = by_child.values().sum();
        let around = self.polls(site, from_ns).1 as f64;
        by_child.insert(OWN.to_owned(), (around - inside).max(0.0));
        by_child
    }

    /// The sum of a counter of activity; none where no slice has it.
    pub(crate) fn activity(&self, counter: &str) -> Option<u64> {
        let rows = self.evidence.activity.iter();
        let rows = rows.filter(|it| it.counter == counter && self.has(it.slice));
        rows.filter_map(|it| it.value)
            .reduce(|sum, more| sum + more)
    }
}

/// A child as tables show it.
pub(crate) fn child_name(child: &str) -> &str {
    if child.is_empty() { OWN } else { child }
}

/// The sites that hold what is to be seen without holding each other: the one that is asked for, and the
/// swarm's beside that of connections.
pub(crate) fn apart(site: Site) -> [Site; 2] {
    match site {
        Site::Swarm => [Site::Swarm, Site::Connection],
        other => [other, Site::Swarm],
    }
}

/// Which rows are to be added up, of rows of these sites. A task's polls hold those of its connection and
/// muxer; without the task's, the connection's are the outermost.
pub(crate) struct Once {
    outermost: Site,
}

impl Once {
    pub(crate) fn of(sites: impl IntoIterator<Item = Option<Site>>) -> Once {
        let has_tasks = sites.into_iter().any(|site| site == Some(Site::Task));
        Once {
            outermost: if has_tasks {
                Site::Task
            } else {
                Site::Connection
            },
        }
    }

    pub(crate) fn counts(&self, site: Option<Site>) -> bool {
        match site {
            None | Some(Site::Swarm) => true,
            Some(site) => site == self.outermost,
        }
    }
}

/// None where there was nothing to divide by.
pub(crate) fn by(count: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| count / of)
}
