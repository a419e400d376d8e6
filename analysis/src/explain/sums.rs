//! Sums over the slices of one kind of evidence.

use std::collections::{BTreeMap, BTreeSet};

use run_format::{
    Site,
    tables::{Pass, SliceRow},
};

use crate::{load::explain::cell::CellEvidence, measure::breakdown::OWN};

pub(crate) struct PassSums<'a> {
    evidence: &'a CellEvidence,
    slices: Vec<&'a SliceRow>,
    numbers: BTreeSet<u32>,
}

impl<'a> PassSums<'a> {
    /// None if there is no such slice.
    pub(crate) fn of(
        evidence: &'a CellEvidence,
        passes: &[Pass],
        variant: usize,
    ) -> Option<PassSums<'a>> {
        let is_one = |slice: &&SliceRow| slice.variant == variant && passes.contains(&slice.pass);
        let slices: Vec<&SliceRow> = evidence.slices.iter().filter(is_one).collect();
        let numbers = slices.iter().map(|slice| slice.slice).collect();
        (!slices.is_empty()).then_some(PassSums {
            evidence,
            slices,
            numbers,
        })
    }

    /// Of each slice by itself, in the order of time.
    pub(crate) fn by_slice(&self) -> impl Iterator<Item = PassSums<'a>> {
        self.slices.iter().map(|slice| PassSums {
            evidence: self.evidence,
            slices: vec![slice],
            numbers: BTreeSet::from([slice.slice]),
        })
    }

    pub(crate) fn has(&self, slice: u32) -> bool {
        self.numbers.contains(&slice)
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.slices.iter().map(|it| it.duration_ms).sum::<f64>() / 1000.0
    }

    pub(crate) fn requests(&self) -> u64 {
        self.slices.iter().map(|it| it.requests).sum()
    }

    /// Polls of a site in this band and higher ones, and their time.
    pub(crate) fn polls(&self, site: Site, from_ns: u64) -> (u64, u64) {
        let bands = self.evidence.bands.iter();
        let bands =
            bands.filter(|it| it.site == site && it.from_ns >= from_ns && self.has(it.slice));
        bands.fold((0, 0), |(polls, ns), it| (polls + it.polls, ns + it.ns))
    }

    /// Polls of a site, and those of them that ended pending.
    pub(crate) fn ends(&self, site: Site) -> (u64, u64) {
        let ends = self.evidence.sites.iter();
        let ends = ends.filter(|it| it.site == site && self.has(it.slice));
        ends.fold((0, 0), |(polls, pending), it| {
            (polls + it.polls, pending + it.pending)
        })
    }

    /// The time of the same polls by child, including the site's own code.
    pub(crate) fn child_ns(&self, site: Site, from_ns: u64) -> BTreeMap<String, f64> {
        let mut by_child: BTreeMap<String, f64> = BTreeMap::new();
        let children = self.evidence.children.iter();
        for it in children.filter(|it| it.site == site && it.from_ns >= from_ns) {
            if self.has(it.slice) {
                *by_child.entry(it.child.to_string()).or_default() += it.ns as f64;
            }
        }
        if by_child.is_empty() {
            // Without children, all time would look like that of the site's own code.
            return by_child;
        }
        let inside: f64 = by_child.values().sum();
        let around = self.polls(site, from_ns).1 as f64;
        by_child.insert(OWN.to_owned(), (around - inside).max(0.0));
        by_child
    }

    /// The sum of an activity counter; none if no slice has it.
    pub(crate) fn activity(&self, counter: &str) -> Option<u64> {
        let rows = self.evidence.activity.iter();
        let rows = rows.filter(|it| it.counter == counter && self.has(it.slice));
        rows.filter_map(|it| it.value)
            .reduce(|sum, more| sum + more)
    }
}

/// How often something happens, and how much that is: bytes of objects, or microseconds of calls. None if there was no
/// poll, or no request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct EventRates {
    pub(crate) per_poll: Option<(f64, f64)>,
    /// In polls and outside them.
    pub(crate) per_request: Option<(f64, f64)>,
}

pub(crate) fn child_name(child: Option<&str>) -> &str {
    child.unwrap_or(OWN)
}

/// Whether a row is of a poll from this band on.
pub(crate) fn is_slow(row_from_ns: Option<u64>, from_ns: u64) -> bool {
    row_from_ns.is_some_and(|it| it >= from_ns)
}

/// Two sites of which neither contains the other: the given one, and the swarm's (or, for the swarm's, the
/// connection's).
pub(crate) fn apart(site: Site) -> [Site; 2] {
    match site {
        Site::Swarm => [Site::Swarm, Site::Connection],
        other => [other, Site::Swarm],
    }
}

/// Selects rows so that nothing is counted twice. A task's polls contain those of its connection and muxer; without
/// rows of tasks, the connection's are the outermost.
pub(crate) struct OutermostSite {
    outermost: Site,
}

impl OutermostSite {
    pub(crate) fn of(sites: impl IntoIterator<Item = Option<Site>>) -> OutermostSite {
        let has_tasks = sites.into_iter().any(|site| site == Some(Site::Task));
        OutermostSite {
            outermost: if has_tasks {
                Site::Task
            } else {
                Site::Connection
            },
        }
    }

    pub(crate) fn counts(&self, site: Option<Site>) -> bool {
        match site {
            // These and drivers of QUIC are tasks of their own.
            Some(Site::Swarm | Site::GossipActor) => true,
            Some(site) => site.is_of_quic() || site == self.outermost,
            None => true,
        }
    }
}

/// Both by the same divisor.
pub(crate) fn both_by((count, amount): (f64, f64), of: f64) -> Option<(f64, f64)> {
    Some((by(count, of)?, by(amount, of)?))
}

pub(crate) fn by(count: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| count / of)
}
