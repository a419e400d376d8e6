//! Findings of needless work. A launch without defects has none.

use anyhow::Result;
use run_format::{Site, tables::Pass};

use super::{
    allocations,
    finding_kind::FindingKind,
    growth::{self, GAUGES, Gauge},
    sums::{PassSums, by},
    system_calls,
    thresholds::{
        CONNECTIONS_PER_PEER, DIALS_PER_S, FEWEST_DIALS, FEWEST_POLLS, FEWEST_SLOW_POLLS,
        FEWEST_WAITS, IDLE_CONNECTION_PERCENT, IDLE_PER_S, IDLE_SWARM_PERCENT, OBJECTS_PER_POLL,
        SELF_WAKING_IDLE_PERCENT, SELF_WAKING_PERCENT, SLEEPING_PERCENT,
    },
};
use crate::{
    load::explain::cell::CellEvidence,
    measure::breakdown::OWN,
    site::SiteNames,
    text::{self, number, rounded},
};

/// Together they contain all children except those of nested sites, each of them once.
const SITES: [Site; 5] = [
    Site::Connection,
    Site::Swarm,
    Site::QuicConnection,
    Site::QuicEndpoint,
    Site::GossipActor,
];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkFinding {
    /// The cell's id.
    pub(crate) cell: String,
    pub(crate) kind: FindingKind,
    pub(crate) site: Option<Site>,
    /// Empty if it is not about a child.
    pub(crate) child: String,
    pub(crate) value: f64,
    pub(crate) threshold: f64,
    /// The observation and its consequence.
    pub(crate) sentence: String,
}

pub(crate) fn of(
    evidence: &CellEvidence,
    sites: &SiteNames,
    slow_from_ns: Option<u64>,
) -> Vec<WorkFinding> {
    let mut search = FindingSearch {
        evidence,
        sites,
        found: Vec::new(),
    };
    if let Some(from_ns) = slow_from_ns {
        search.sleeping(from_ns);
    }
    search.allocating();
    if let Some(sums) = PassSums::of(evidence, &[Pass::Activity], 0) {
        search.dials(&sums);
        search.self_waking(&sums);
        search.idle(&sums);
    }
    search.several_connections();
    search.growing();
    search.found
}

/// By kind, then by how far they exceed their threshold.
pub(crate) fn sorted(mut findings: Vec<WorkFinding>) -> Vec<WorkFinding> {
    let excess = |it: &WorkFinding| it.value / it.threshold;
    findings.sort_by(|one, other| {
        let by_kind = one.kind.cmp(&other.kind);
        by_kind.then(excess(other).total_cmp(&excess(one)))
    });
    findings
}

pub(crate) fn csv(findings: &[WorkFinding]) -> Result<Vec<u8>> {
    const HEAD: &str = "cell,kind,site,child,value,threshold,sentence";
    let row = |it: &WorkFinding| {
        // Growth from nothing has no percentage.
        let value = it.value.is_finite().then(|| rounded(it.value).to_string());
        [
            it.cell.clone(),
            it.kind.to_string(),
            it.site.map_or("", Site::name).to_owned(),
            it.child.clone(),
            value.unwrap_or_default(),
            it.threshold.to_string(),
            it.sentence.clone(),
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
    fn add(
        &mut self,
        kind: FindingKind,
        site: impl Into<Option<Site>>,
        child: &str,
        (value, threshold): (f64, f64),
        sentence: String,
    ) {
        if value > threshold {
            self.found.push(WorkFinding {
                cell: self.evidence.cell.id(),
                kind,
                site: site.into(),
                child: child.to_owned(),
                value,
                threshold,
                sentence,
            });
        }
    }

    fn sleeping(&mut self, from_ns: u64) {
        for site in SITES {
            let Some(it) = system_calls::waiting(self.evidence, site, from_ns) else {
                continue;
            };
            if it.slow_polls < FEWEST_SLOW_POLLS || it.calls < FEWEST_WAITS {
                continue;
            }
            let sentence = format!(
                "{} of `{}` waits in the kernel: {} % of the time in slow polls, most of it in `{}` ({} µs per call). A \
                 poll should return instead of waiting, because its worker runs nothing else meanwhile.",
                part(&it.child),
                self.sites.function(site),
                number(it.percent),
                it.call,
                number(it.us_per_call)
            );
            let excess = (it.percent, SLEEPING_PERCENT);
            self.add(FindingKind::SleepingPoll, site, &it.child, excess, sentence);
        }
    }

    fn allocating(&mut self) {
        for ((site, child), (polls, of)) in allocations::by_child(self.evidence, 0) {
            let (objects, bytes) = of.per_poll.unwrap_or_default();
            if !SITES.contains(&site) || polls < FEWEST_POLLS {
                continue;
            }
            let sentence = format!(
                "{} of `{}` allocates {} objects ({} bytes) per poll on average. Memory that is allocated and freed at \
                 this rate costs more than the work it is used for.",
                part(&child),
                self.sites.function(site),
                number(objects),
                number(bytes)
            );
            let excess = (objects, OBJECTS_PER_POLL);
            self.add(FindingKind::AllocatingPoll, site, &child, excess, sentence);
        }
    }

    fn dials(&mut self, sums: &PassSums) {
        let Some(dials) = sums.activity("dials").filter(|it| *it >= FEWEST_DIALS) else {
            return;
        };
        let per_s = by(dials as f64, sums.seconds()).unwrap_or(0.0);
        let failed = sums.activity("dial_failures");
        let failed = failed.map_or_else(String::new, |it| {
            format!(" ({} dials failed)", number(it as f64))
        });
        let sentence = format!(
            "Central dials {} times per second{failed}, although it was already connected to all peers. Some code dials \
             peers that are connected.",
            number(per_s)
        );
        let excess = (per_s, DIALS_PER_S);
        self.add(
            FindingKind::RedundantDials,
            Site::Swarm,
            "",
            excess,
            sentence,
        );
    }

    fn self_waking(&mut self, sums: &PassSums) {
        let count = |counter: &str| sums.activity(counter).map(|it| it as f64);
        let of_task = count("task_self_wakes").map(|wakes| {
            let on_purpose = count("task_yields").unwrap_or(0.0);
            (wakes - on_purpose).max(0.0)
        });
        let of_central = count("central_self_wakes");
        // Central's task polls the swarm until it is pending, so this is how often the task was polled.
        let central_polls = sums.ends(Site::Swarm).1;
        let task_polls = sums.ends(Site::Task).0;
        let central = (Site::Swarm, Site::Swarm, "Central's own task");
        let task = (Site::Task, Site::Connection, "A connection's task");
        for ((site, inside, whose), wakes, polls) in [
            (central, of_central, central_polls),
            (task, of_task, task_polls),
        ] {
            let share = wakes.and_then(|wakes| by(wakes, polls as f64));
            let idle = idle_polls(sums, inside).and_then(|(idle, polls)| by(idle, polls));
            let (Some(share), Some(idle)) = (share, idle) else {
                continue;
            };
            let (percent, idle_percent) = (100.0 * share, 100.0 * idle);
            // A task that wakes itself and then finds something to do was right to.
            if polls < FEWEST_POLLS || idle_percent < SELF_WAKING_IDLE_PERCENT {
                continue;
            }
            let sentence = format!(
                "{whose} wakes itself in {} % of its polls, and {} % of the polls inside it find nothing ready. It keeps \
                 itself busy without doing any work.",
                number(percent),
                number(idle_percent)
            );
            let excess = (percent, SELF_WAKING_PERCENT);
            self.add(FindingKind::SelfWaking, site, "", excess, sentence);
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
            let per_s = by(idle, sums.seconds()).unwrap_or(0.0);
            let Some(share) = by(idle, polls).filter(|_| per_s > IDLE_PER_S) else {
                continue;
            };
            let percent = 100.0 * share;
            let sentence = format!(
                "{} % of the polls of `{}` find nothing ready, which is {} polls per second. The code that wakes the task \
                 wakes it without need.",
                number(percent),
                self.sites.function(site),
                number(per_s)
            );
            let excess = (percent, threshold);
            self.add(FindingKind::IdlePolls, site, "", excess, sentence);
        }
    }

    /// Uses the median over slices, so that more than half of them must have too many connections.
    fn several_connections(&mut self) {
        let connections = growth::series(self.evidence, "connections");
        let peers = growth::series(self.evidence, "peers");
        if connections.len() != peers.len() {
            return;
        }
        let per_peer = connections.iter().zip(&peers);
        let per_peer = per_peer.filter_map(|(connections, peers)| by(connections.1, peers.1));
        let mut per_peer: Vec<f64> = per_peer.collect();
        per_peer.sort_by(f64::total_cmp);
        let Some(median) = per_peer.get(per_peer.len().saturating_sub(1) / 2) else {
            return;
        };
        let sentence = format!(
            "There are {} connections per peer. Each of them has its own task, buffers and keep-alives.",
            number(*median)
        );
        let excess = (*median, CONNECTIONS_PER_PEER);
        self.add(FindingKind::SeveralConnections, None, "", excess, sentence);
    }

    fn growing(&mut self) {
        for gauge in &GAUGES {
            let Some(trend) = growth::growing(self.evidence, gauge) else {
                continue;
            };
            let Gauge { unit, scale, .. } = gauge;
            let sentence = format!(
                "{} grows from {} to {}{unit} during the launch, by {} [{}, {}]{unit} per second. What \
                 is created is not removed.",
                gauge.name,
                number((trend.from * scale).max(0.0)),
                number(trend.to * scale),
                number(trend.slope * scale),
                number(trend.interval.low * scale),
                number(trend.interval.high * scale)
            );
            let growth = trend.growth();
            let percent = growth.map_or(f64::INFINITY, |growth| 100.0 * growth);
            self.add(gauge.kind, None, "", (percent, gauge.threshold), sentence);
        }
    }
}

/// The polls of a site that found nothing ready, and all its polls.
fn idle_polls(sums: &PassSums, site: Site) -> Option<(f64, f64)> {
    let count = |what: &str| Some(sums.activity(&format!("{site}_{what}"))? as f64);
    count("polls_idle").zip(count("polls"))
}

/// "The child `handler.poll`".
fn part(child: &str) -> String {
    if child == OWN {
        "The own code".to_owned()
    } else {
        format!("The child `{child}`")
    }
}
