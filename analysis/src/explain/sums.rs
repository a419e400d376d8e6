//! Sums over the slices of one kind of evidence.

use std::collections::BTreeMap;

use run_format::{ActivityCounter, EvidenceRow, Pass, Site, SiteRow, SliceRow};

use crate::load::CellEvidence;
use crate::load::explain::OfSlice;
use crate::metrics::OWN;
use crate::stats::{CellEstimate, RatioKind, RatioPart, ratio};

/// The slices of one pass and variant. If there are none, all sums are empty.
pub(crate) struct PassSums<'a> {
    evidence: &'a CellEvidence,
    slices: BTreeMap<u32, &'a SliceRow>,
}

pub(crate) struct PollSum {
    pub(crate) count: u64,
    pub(crate) ns: u64,
}

impl<'a> PassSums<'a> {
    pub(crate) fn new(evidence: &CellEvidence, pass: Pass, variant: usize) -> PassSums<'_> {
        let is_here = |slice: &&SliceRow| slice.variant == variant && slice.pass == pass;
        let slices = evidence.slices.iter().filter(is_here);
        PassSums {
            evidence,
            slices: slices.map(|slice| (slice.slice, slice)).collect(),
        }
    }

    pub(crate) fn by_slice(&self) -> impl Iterator<Item = PassSums<'a>> {
        self.slices.iter().map(|(number, slice)| PassSums {
            evidence: self.evidence,
            slices: BTreeMap::from([(*number, *slice)]),
        })
    }

    /// Adds up amounts of the rows of these slices by a key. A row for which `amounts` returns None is left out.
    pub(crate) fn by<Row: OfSlice, Key: Ord, const N: usize>(
        &self,
        rows: &'a [Row],
        amounts: impl Fn(&'a Row) -> Option<(Key, [u64; N])>,
    ) -> BTreeMap<Key, [u64; N]> {
        let mut sums = BTreeMap::new();
        let is_here = |row: &&Row| self.slices.contains_key(&row.slice());
        for (key, amounts) in rows.iter().filter(is_here).filter_map(amounts) {
            let sum = sums.entry(key).or_insert([0; N]);
            for (sum, amount) in sum.iter_mut().zip(amounts) {
                *sum += amount;
            }
        }
        sums
    }

    /// Like [`PassSums::by`], with one amount for each row.
    pub(crate) fn count_by<Row: OfSlice, Key: Ord>(
        &self,
        rows: &'a [Row],
        count: impl Fn(&'a Row) -> Option<(Key, u64)>,
    ) -> BTreeMap<Key, u64> {
        let sums = self.by(rows, |row| count(row).map(|(key, count)| (key, [count])));
        let counts = sums.into_iter().map(|(key, [count])| (key, count));
        counts.collect()
    }

    pub(crate) fn total<Row: OfSlice, const N: usize>(
        &self,
        rows: &'a [Row],
        amounts: impl Fn(&'a Row) -> Option<[u64; N]>,
    ) -> Option<[u64; N]> {
        self.by(rows, |row| Some(((), amounts(row)?))).remove(&())
    }

    pub(crate) fn seconds(&self) -> f64 {
        let durations_ms = self.slices.values().map(|slice| slice.duration_ms);
        durations_ms.sum::<f64>() / 1000.0
    }

    pub(crate) fn requests(&self) -> f64 {
        let requests = self.slices.values().filter_map(|slice| slice.requests);
        requests.sum::<u64>() as f64
    }

    /// A count per request, with an interval from the differences between slices. What happens in nested polls counts once.
    /// Returns None if there is no slice.
    pub(crate) fn per_request<Row: OfSlice>(
        &self,
        rows: &'a [Row],
        count: impl Fn(&Row) -> (Option<Site>, u64),
    ) -> Option<CellEstimate> {
        let is_counted = counted_once(rows.iter().map(|row| count(row).0));
        let parts = self.by_slice().map(|slice| {
            let counted = slice.total(rows, |row| {
                let (site, count) = count(row);
                is_counted(site).then_some([count])
            });
            let [count] = counted.unwrap_or_default();
            RatioPart {
                num: count as f64,
                den: slice.requests(),
            }
        });
        ratio(&[parts.collect()], RatioKind::Amount)
    }

    /// The polls of a site in this band and higher ones.
    pub(crate) fn polls(&self, site: Site, from_ns: u64) -> PollSum {
        let sum = self.total(&self.evidence.bands, |row| {
            (row.site == site && row.from_ns >= from_ns).then_some([row.polls, row.ns])
        });
        let [count, ns] = sum.unwrap_or_default();
        PollSum { count, ns }
    }

    /// The sum of a column of the rows about a site.
    pub(crate) fn site_sum(&self, site: Site, column: fn(&SiteRow) -> u64) -> u64 {
        let sum = self.total(&self.evidence.sites, |row| {
            (row.site == site).then(|| [column(row)])
        });
        sum.map_or(0, |[sum]| sum)
    }

    /// The time of the polls of a site in this band and higher ones, by child. The site's own code counts as a child.
    pub(crate) fn child_ns(&self, site: Site, from_ns: u64) -> BTreeMap<String, u64> {
        let mut by_child = self.count_by(&self.evidence.children, |row| {
            let is_counted = row.site == site && row.from_ns >= from_ns;
            is_counted.then(|| (row.child.to_string(), row.ns))
        });
        // Without children, all time would look like that of the site's own code.
        if !by_child.is_empty() {
            let around = self.polls(site, from_ns).ns;
            let inside: u64 = by_child.values().sum();
            by_child.insert(OWN.to_owned(), around.saturating_sub(inside));
        }
        by_child
    }

    pub(crate) fn activity(&self, counter: ActivityCounter) -> Option<u64> {
        let sum = self.total(&self.evidence.activity, |row| {
            (row.what == counter).then_some([row.count])
        });
        sum.map(|[sum]| sum)
    }
}

pub(crate) fn is_slow(row_from_ns: Option<u64>, from_ns: u64) -> bool {
    row_from_ns.is_some_and(|row_from_ns| row_from_ns >= from_ns)
}

/// Two sites of which neither contains the other: the given one and the swarm. If the swarm is given, the other is the
/// connection.
pub(crate) fn disjoint_sites(site: Site) -> [Site; 2] {
    match site {
        Site::Swarm => [Site::Swarm, Site::Connection],
        other => [other, Site::Swarm],
    }
}

/// How often something happened in and outside of polls.
pub(crate) fn counted(rows: &[EvidenceRow]) -> u64 {
    let is_counted = counted_once(rows.iter().map(|row| row.site));
    let once = rows.iter().filter(|row| is_counted(row.site));
    once.map(|row| row.count).sum()
}

/// Selects rows so that nothing is counted twice. A task's polls contain those of its connection and muxer; without
/// rows of tasks, the connection's are the outermost.
pub(crate) fn counted_once(
    sites: impl IntoIterator<Item = Option<Site>>,
) -> impl Fn(Option<Site>) -> bool {
    let has_tasks = sites.into_iter().any(|site| site == Some(Site::Task));
    let outermost = match has_tasks {
        true => Site::Task,
        false => Site::Connection,
    };
    move |site| match site {
        // Polls of these sites, and of the drivers of QUIC, are in no other site's polls.
        None | Some(Site::Swarm | Site::GossipActor) => true,
        Some(site) => site.is_of_quic() || site == outermost,
    }
}
