//! Finds needless work, such as polls that block and tasks that wake themselves.

use std::collections::BTreeMap;

use anyhow::Result;
use run_format::{ActivityCounter, BASELINE, Pass, Site};
use serde::Serialize;

use super::sums::PassSums;
use super::thresholds::{
    CONNECTIONS_PER_PEER, DIALS_PER_S, FEWEST_DIALS, FEWEST_POLLS, GROWTH_PERCENT,
    IDLE_CONNECTION_PERCENT, IDLE_PER_S, IDLE_SWARM_PERCENT, MEMORY_GROWTH_BYTES,
    MEMORY_GROWTH_PERCENT, OBJECTS_PER_POLL, SELF_WAKING_IDLE_PERCENT, SELF_WAKING_PERCENT,
    SLEEPING_PERCENT, TREND_CONFIDENCE,
};
use crate::load::{CellEvidence, name_in_files};
use crate::metrics::OWN;
use crate::prose::{self, prose};
use crate::site::SiteNames;
use crate::stats::{self, CONFIDENCE, Interval, Trend, quotient, trend};
use crate::text::{self, number, rounded};

/// These sites together contain all children except those of nested sites, each child once.
const SITES: [Site; 5] = [
    Site::Connection,
    Site::Swarm,
    Site::QuicConnection,
    Site::QuicEndpoint,
    Site::GossipActor,
];

/// The kinds of findings, the most severe first. A kind that can cause another one comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FindingKind {
    SleepingPoll,
    AllocatingPoll,
    RedundantDials,
    GrowingConnections,
    GrowingTasks,
    SelfWaking,
    SeveralConnections,
    IdlePolls,
    GrowingMemory,
}

pub(crate) struct WorkFinding {
    pub(crate) cell: String,
    pub(crate) kind: FindingKind,
    pub(crate) site: Option<Site>,
    /// Empty if the finding is not about a child.
    pub(crate) child: String,
    pub(crate) value: f64,
    pub(crate) threshold: f64,
    pub(crate) sentence: String,
}

pub(crate) fn find(evidence: &CellEvidence, sites: &SiteNames) -> Vec<WorkFinding> {
    let mut search = FindingSearch {
        evidence,
        sites,
        found: Vec::new(),
    };
    search.sleeping();
    search.allocating();
    let sums = PassSums::new(evidence, Pass::Activity, BASELINE);
    search.dials(&sums);
    search.self_waking(&sums);
    search.idle(&sums);
    search.several_connections();
    search.growing();
    search.found
}

/// Sorts findings by kind, then by how far they exceed their threshold.
pub(crate) fn sorted(mut findings: Vec<WorkFinding>) -> Vec<WorkFinding> {
    let excess = |finding: &WorkFinding| finding.value / finding.threshold;
    findings.sort_by(|one, other| {
        let by_kind = one.kind.cmp(&other.kind);
        by_kind.then(excess(other).total_cmp(&excess(one)))
    });
    findings
}

pub(crate) fn csv(findings: &[WorkFinding]) -> Result<Vec<u8>> {
    const HEAD: &str = "cell,kind,site,child,value,threshold,sentence";
    let row = |finding: &WorkFinding| {
        // Growth from nothing has no percentage.
        let value = Some(finding.value).filter(|value| value.is_finite());
        [
            finding.cell.clone(),
            name_in_files(finding.kind),
            finding.site.map_or("", Site::name).to_owned(),
            finding.child.clone(),
            value.map_or_else(String::new, |value| rounded(value).to_string()),
            finding.threshold.to_string(),
            finding.sentence.clone(),
        ]
    };
    text::csv(HEAD, findings.iter().map(row))
}

struct FindingSearch<'a> {
    evidence: &'a CellEvidence,
    sites: &'a SiteNames,
    found: Vec<WorkFinding>,
}

impl FindingSearch<'_> {
    /// Adds a finding if the value exceeds its threshold. The sentence says `more` beside the value.
    fn add(
        &mut self,
        kind: FindingKind,
        site: Option<Site>,
        child: &str,
        (value, threshold): (f64, f64),
        more: String,
    ) {
        let sentence = prose::text(&prose!('a "finding.txt" {
            kind: FindingKind = kind,
            site: Option<Site> = site,
            child: &'a str = child,
            function: &'a str = site.map_or("", |site| self.sites.function(site)),
            value: f64 = value,
            more: String = more,
        }));
        if value > threshold {
            self.found.push(WorkFinding {
                cell: self.evidence.cell.id(),
                kind,
                site,
                child: child.to_owned(),
                value,
                threshold,
                sentence,
            });
        }
    }

    fn sleeping(&mut self) {
        for site in SITES {
            if let Some(waiting) = self.evidence.waiting(site) {
                let compared = (waiting.percent, SLEEPING_PERCENT);
                let (kind, child) = (FindingKind::SleepingPoll, waiting.child);
                self.add(kind, Some(site), child, compared, waiting.call);
            }
        }
    }

    fn allocating(&mut self) {
        for ((site, child), rates) in self.evidence.allocation_rates(BASELINE) {
            if SITES.contains(&site) && rates.polls >= FEWEST_POLLS {
                let (kind, per_poll) = (FindingKind::AllocatingPoll, rates.per_poll);
                let compared = (per_poll.count, OBJECTS_PER_POLL);
                self.add(kind, Some(site), &child, compared, number(per_poll.amount));
            }
        }
    }

    fn dials(&mut self, sums: &PassSums) {
        let dials = sums.activity(ActivityCounter::Dials).unwrap_or(0);
        if dials < FEWEST_DIALS {
            return;
        }
        let per_s = quotient(dials as f64, sums.seconds()).unwrap_or(0.0);
        let failed = sums.activity(ActivityCounter::DialFailures);
        let more = failed.map_or_else(String::new, |failed| {
            format!(" ({} dials failed)", number(failed as f64))
        });
        let (kind, compared) = (FindingKind::RedundantDials, (per_s, DIALS_PER_S));
        self.add(kind, Some(Site::Swarm), "", compared, more);
    }

    fn self_waking(&mut self, sums: &PassSums) {
        let count = |counter: ActivityCounter| sums.activity(counter).map(|count| count as f64);
        let task_wakes = count(ActivityCounter::TaskSelfWakes).map(|wakes| {
            let on_purpose = count(ActivityCounter::TaskYields).unwrap_or(0.0);
            (wakes - on_purpose).max(0.0)
        });
        let central_wakes = count(ActivityCounter::CentralSelfWakes);
        // Central's task polls the swarm until it is pending, so this is how often the task was polled.
        let central_polls = sums.site_sum(Site::Swarm, |row| row.pending);
        let task_polls = sums.site_sum(Site::Task, |row| row.polls);
        for (site, inside, wakes, polls) in [
            (Site::Swarm, Site::Swarm, central_wakes, central_polls),
            (Site::Task, Site::Connection, task_wakes, task_polls),
        ] {
            let percent = wakes.and_then(|wakes| stats::percent(wakes, polls as f64));
            let idle_percent =
                idle_polls(sums, inside).and_then(|(idle, polls)| stats::percent(idle, polls));
            let (Some(percent), Some(idle_percent)) = (percent, idle_percent) else {
                continue;
            };
            // A task that finds something to do after it woke itself had a reason.
            if polls >= FEWEST_POLLS && idle_percent >= SELF_WAKING_IDLE_PERCENT {
                let (kind, compared) = (FindingKind::SelfWaking, (percent, SELF_WAKING_PERCENT));
                self.add(kind, Some(site), "", compared, number(idle_percent));
            }
        }
    }

    fn idle(&mut self, sums: &PassSums) {
        for (site, threshold) in [
            (Site::Connection, IDLE_CONNECTION_PERCENT),
            (Site::Swarm, IDLE_SWARM_PERCENT),
        ] {
            let Some((idle, polls)) = idle_polls(sums, site) else {
                continue;
            };
            let per_s = quotient(idle, sums.seconds()).unwrap_or(0.0);
            if let Some(percent) = stats::percent(idle, polls).filter(|_| per_s > IDLE_PER_S) {
                let (kind, compared) = (FindingKind::IdlePolls, (percent, threshold));
                self.add(kind, Some(site), "", compared, number(per_s));
            }
        }
    }

    /// Finds too many connections to a peer. The median over slices counts, so that more than half of the slices must have too
    /// many.
    fn several_connections(&mut self) {
        let connections = series(self.evidence, ActivityCounter::Connections);
        let peers = series(self.evidence, ActivityCounter::Peers);
        if connections.len() != peers.len() {
            return;
        }
        let slices = connections.iter().zip(&peers);
        let mut per_peer: Vec<f64> = slices
            .filter_map(|((_, connections), (_, peers))| quotient(*connections, *peers))
            .collect();
        per_peer.sort_by(f64::total_cmp);
        if let Some(&median) = per_peer.get(per_peer.len().saturating_sub(1) / 2) {
            let kind = FindingKind::SeveralConnections;
            let compared = (median, CONNECTIONS_PER_PEER);
            self.add(kind, None, "", compared, String::new());
        }
    }

    fn growing(&mut self) {
        for gauge in &GAUGES {
            let series = series(self.evidence, gauge.counter);
            if !trend(&series, TREND_CONFIDENCE).is_some_and(|trend| trend.is_beyond_noise()) {
                continue;
            }
            let grows = |trend: &Trend| trend.slope > 0.0 && trend.to - trend.from > gauge.least;
            let Some(trend) = trend(&series, CONFIDENCE).filter(grows) else {
                continue;
            };
            let Interval { low, high } = trend.interval;
            let shown = [trend.from.max(0.0), trend.to, trend.slope, low, high];
            let [from, to, slope, low, high] = shown.map(|value| number(value / gauge.per_unit));
            let unit = gauge.unit;
            let grown = format!(
                "from {from} to {to}{unit} during the launch, by {slope} [{low}, {high}]{unit}"
            );
            // Growth from nothing has no percentage.
            let percent = trend
                .growth()
                .map_or(f64::INFINITY, |growth| 100.0 * growth);
            self.add(
                gauge.kind,
                None,
                "",
                (percent, gauge.threshold_percent),
                grown,
            );
        }
    }
}

/// The number of polls of connections, or of the swarm, that found nothing to do, and the number of all such polls.
fn idle_polls(sums: &PassSums, site: Site) -> Option<(f64, f64)> {
    let (idle, polls) = match site {
        Site::Swarm => (ActivityCounter::SwarmPollsIdle, ActivityCounter::SwarmPolls),
        _ => (
            ActivityCounter::ConnectionPollsIdle,
            ActivityCounter::ConnectionPolls,
        ),
    };
    let count = |counter: ActivityCounter| Some(sums.activity(counter)? as f64);
    count(idle).zip(count(polls))
}

struct Gauge {
    counter: ActivityCounter,
    kind: FindingKind,
    unit: &'static str,
    /// The value of the counter that is one of the unit, such as the bytes of a MiB.
    per_unit: f64,
    /// Growth is a finding if it exceeds this percentage.
    threshold_percent: f64,
    /// Growth of the counter by less than this is no finding, whatever it is in percent.
    least: f64,
}

#[rustfmt::skip]
const GAUGES: [Gauge; 3] = [
    Gauge { counter: ActivityCounter::Connections, kind: FindingKind::GrowingConnections, unit: "", per_unit: 1.0, threshold_percent: GROWTH_PERCENT, least: 1.0 },
    Gauge { counter: ActivityCounter::Tasks, kind: FindingKind::GrowingTasks, unit: "", per_unit: 1.0, threshold_percent: GROWTH_PERCENT, least: 1.0 },
    Gauge { counter: ActivityCounter::ResidentBytes, kind: FindingKind::GrowingMemory, unit: " MiB", per_unit: 1_048_576.0, threshold_percent: MEMORY_GROWTH_PERCENT, least: MEMORY_GROWTH_BYTES },
];

/// The values of a counter at the end of every slice. The first number of a pair is that time in seconds.
fn series(evidence: &CellEvidence, counter: ActivityCounter) -> Vec<(f64, f64)> {
    let rows = evidence.activity.iter().filter(|row| row.what == counter);
    let values: BTreeMap<u32, u64> = rows.map(|row| (row.slice, row.count)).collect();
    let slices = evidence.slices.iter().filter_map(|slice| {
        let end_s = (slice.start_ms + slice.duration_ms) / 1000.0;
        Some((end_s, *values.get(&slice.slice)? as f64))
    });
    let mut series: Vec<(f64, f64)> = slices.collect();
    series.sort_by(|(one_s, _), (other_s, _)| one_s.total_cmp(other_s));
    series
}
