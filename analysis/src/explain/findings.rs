//! Work that need not be done. A clean run has none of these.

use super::{
    allocations,
    growth::{self, Gauge},
    sums::{Sums, by},
    system_calls,
    thresholds::{
        CONNECTIONS_PER_PEER, DIALS_PER_S, FEWEST_DIALS, FEWEST_POLLS, FEWEST_SLOW_POLLS,
        FEWEST_WAITS, IDLE_CONNECTION_PERCENT, IDLE_PER_S, IDLE_SWARM_PERCENT, OBJECTS_PER_POLL,
        SELF_WAKING_IDLE_PERCENT, SELF_WAKING_PERCENT, SLEEPING_PERCENT,
    },
    worst::quoted,
};
use crate::{
    load::explain::cell::{CellEvidence, Pass},
    site::Site,
    text::{number, rounded},
};

/// Together they hold all children but those of nested sites, and none twice.
const SITES: [Site; 2] = [Site::Connection, Site::Swarm];

/// In the order of severity: what may be the cause of others is before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
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

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::SleepingPoll => "sleeping-poll",
            Kind::AllocatingPoll => "allocating-poll",
            Kind::RedundantDials => "redundant-dials",
            Kind::GrowingConnections => "growing-connections",
            Kind::GrowingTasks => "growing-tasks",
            Kind::SelfWaking => "self-waking",
            Kind::SeveralConnections => "several-connections",
            Kind::IdlePolls => "idle-polls",
            Kind::GrowingMemory => "growing-memory",
        }
    }
}

/// Something that a maintainer should look at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    /// The cell's id.
    pub(crate) cell: String,
    pub(crate) kind: Kind,
    pub(crate) site: Option<Site>,
    /// Empty where it is not of a child.
    pub(crate) child: String,
    pub(crate) value: f64,
    pub(crate) threshold: f64,
    /// What was seen, and what it means.
    pub(crate) sentence: String,
}

/// Everything about the baseline of a cell, the most severe first.
pub(crate) fn of(evidence: &CellEvidence, slow_from_ns: Option<u64>) -> Vec<Finding> {
    let mut search = Search {
        cell: evidence.cell.id(),
        evidence,
        found: Vec::new(),
    };
    if let Some(from_ns) = slow_from_ns {
        search.sleeping(from_ns);
    }
    search.allocating();
    search.activity();
    search.several_connections();
    search.growing();
    sorted(search.found)
}

/// By kind, and then by how far they are over their threshold.
pub(crate) fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    let excess = |it: &Finding| it.value / it.threshold;
    findings.sort_by(|one, other| {
        let by_kind = one.kind.cmp(&other.kind);
        by_kind.then(excess(other).total_cmp(&excess(one)))
    });
    findings
}

/// A line for each.
pub(crate) fn csv(findings: &[Finding]) -> String {
    let mut text = "cell,kind,site,child,value,threshold,sentence\n".to_owned();
    for it in findings {
        let fields = [
            it.cell.clone(),
            it.kind.name().to_owned(),
            it.site
                .map_or_else(String::new, |site| site.name().to_owned()),
            quoted(&it.child),
            // There is no share of nothing.
            if it.value.is_finite() {
                rounded(it.value).to_string()
            } else {
                String::new()
            },
            it.threshold.to_string(),
            quoted(&it.sentence),
        ];
        text += &(fields.join(",") + "\n");
    }
    text
}

struct Search<'a> {
    cell: String,
    evidence: &'a CellEvidence,
    found: Vec<Finding>,
}

/// What was seen, and from where on it is a finding.
struct Excess {
    kind: Kind,
    site: Option<Site>,
    child: String,
    value: f64,
    threshold: f64,
}

impl Search<'_> {
    fn add(&mut self, it: Excess, sentence: impl FnOnce(&Excess) -> String) {
        if it.value > it.threshold {
            let sentence = sentence(&it);
            self.found.push(Finding {
                cell: self.cell.clone(),
                kind: it.kind,
                site: it.site,
                child: it.child,
                value: it.value,
                threshold: it.threshold,
                sentence,
            });
        }
    }

    fn sleeping(&mut self, from_ns: u64) {
        for site in SITES {
            let waiting = system_calls::waiting(self.evidence, 0, site, from_ns);
            let Some(it) =
                waiting.filter(|it| it.slow_polls >= FEWEST_SLOW_POLLS && it.calls >= FEWEST_WAITS)
            else {
                continue;
            };
            let excess = Excess {
                kind: Kind::SleepingPoll,
                site: Some(site),
                child: it.child.clone(),
                value: it.percent,
                threshold: SLEEPING_PERCENT,
            };
            self.add(excess, |excess| {
                format!(
                    "{} of `{}` waits in the kernel: {} % of the time in slow polls, above all in `{}`, {} µs a \
                     call. A poll is to return instead of waiting; nothing else of this worker runs meanwhile.",
                    part(&it.child),
                    site.function(),
                    number(excess.value),
                    it.call,
                    number(it.us_per_call)
                )
            });
        }
    }

    fn allocating(&mut self) {
        for ((site, child), of) in allocations::by_child(self.evidence, 0) {
            if !SITES.contains(&site) || of.polls < FEWEST_POLLS {
                continue;
            }
            let excess = Excess {
                kind: Kind::AllocatingPoll,
                site: Some(site),
                child: child.clone(),
                value: of.objects_per_poll,
                threshold: OBJECTS_PER_POLL,
            };
            self.add(excess, |excess| {
                format!(
                    "{} of `{}` allocates {} objects ({} bytes) in a poll on average: memory that is allocated \
                     and freed again at that rate costs more than what it is for.",
                    part(&child),
                    site.function(),
                    number(excess.value),
                    number(of.bytes_per_poll)
                )
            });
        }
    }

    fn activity(&mut self) {
        let Some(sums) = Sums::of(self.evidence, &[Pass::Activity], 0) else {
            return;
        };
        let count = |counter: &str| sums.activity(counter).map(|it| it as f64);
        let seconds = sums.seconds();
        if let Some(dials) = count("dials").filter(|it| *it >= FEWEST_DIALS as f64) {
            let failed = count("dial_failures").map_or_else(String::new, |it| {
                format!(", {} of which failed", number(it))
            });
            let excess = Excess {
                kind: Kind::RedundantDials,
                site: Some(Site::Swarm),
                child: String::new(),
                value: by(dials, seconds).unwrap_or(0.0),
                threshold: DIALS_PER_S,
            };
            self.add(excess, |excess| {
                format!(
                    "Central dials {} times a second{failed}, although all peers were connected before: somebody \
                     dials peers that there is a connection to.",
                    number(excess.value)
                )
            });
        }
        // Central's task polls the swarm until it is pending, so that is how often it was polled.
        let swarm_pending = sums.ends(Site::Swarm).1 as f64;
        let (tasks, _) = sums.ends(Site::Task);
        let of_tasks = count("task_self_wakes").map(|wakes| {
            let on_purpose = count("task_yields").unwrap_or(0.0);
            (wakes - on_purpose).max(0.0)
        });
        let idle = |polls: &str, idle: &str| Some(100.0 * by(count(idle)?, count(polls)?)?);
        for (site, whose, wakes, polls, idle) in [
            (
                Site::Swarm,
                "Central's own task",
                count("central_self_wakes"),
                swarm_pending,
                idle("swarm_polls", "swarm_polls_idle"),
            ),
            (
                Site::Task,
                "A connection's task",
                of_tasks,
                tasks as f64,
                idle("connection_polls", "connection_polls_idle"),
            ),
        ] {
            let (Some(share), Some(idle)) = (wakes.and_then(|wakes| by(wakes, polls)), idle) else {
                continue;
            };
            // A task that wakes itself and then has something to do was right to.
            if polls < FEWEST_POLLS as f64 || idle < SELF_WAKING_IDLE_PERCENT {
                continue;
            }
            let excess = Excess {
                kind: Kind::SelfWaking,
                site: Some(site),
                child: String::new(),
                value: 100.0 * share,
                threshold: SELF_WAKING_PERCENT,
            };
            self.add(excess, |excess| {
                format!(
                    "{whose} wakes itself in {} % of its polls, and {} % of the polls below it find nothing ready: it \
                     keeps itself busy.",
                    number(excess.value),
                    number(idle)
                )
            });
        }
        for (site, polls, idle, threshold) in [
            (
                Site::Connection,
                "connection_polls",
                "connection_polls_idle",
                IDLE_CONNECTION_PERCENT,
            ),
            (
                Site::Swarm,
                "swarm_polls",
                "swarm_polls_idle",
                IDLE_SWARM_PERCENT,
            ),
        ] {
            let (Some(polls), Some(idle)) = (count(polls), count(idle)) else {
                continue;
            };
            let per_s = by(idle, seconds).unwrap_or(0.0);
            let Some(share) = by(idle, polls).filter(|_| per_s > IDLE_PER_S) else {
                continue;
            };
            let excess = Excess {
                kind: Kind::IdlePolls,
                site: Some(site),
                child: String::new(),
                value: 100.0 * share,
                threshold,
            };
            self.add(excess, |excess| {
                format!(
                    "{} % of the polls of `{}` find nothing ready, {} of them a second: whoever wakes it does so \
                     for nothing.",
                    number(excess.value),
                    site.function(),
                    number(per_s)
                )
            });
        }
    }

    /// Of the last slices it does not matter which: more than half of all have to have too many.
    fn several_connections(&mut self) {
        let connections = growth::series(self.evidence, "connections");
        let peers = growth::series(self.evidence, "peers");
        let at = |(connections, peers): (&(f64, f64), &(f64, f64))| by(connections.1, peers.1);
        if connections.len() != peers.len() {
            return;
        }
        let mut by_peer: Vec<f64> = connections.iter().zip(&peers).filter_map(at).collect();
        by_peer.sort_by(f64::total_cmp);
        let Some(median) = by_peer.get(by_peer.len().saturating_sub(1) / 2) else {
            return;
        };
        let excess = Excess {
            kind: Kind::SeveralConnections,
            site: None,
            child: String::new(),
            value: *median,
            threshold: CONNECTIONS_PER_PEER,
        };
        self.add(excess, |excess| {
            format!(
                "There are {} connections by peer: every one of them has a task, buffers, and keep-alives of its \
                 own.",
                number(excess.value)
            )
        });
    }

    fn growing(&mut self) {
        for gauge in Gauge::ALL {
            let Some(trend) = growth::growing(self.evidence, gauge) else {
                continue;
            };
            let (unit, scale) = match gauge {
                Gauge::Memory => (" MiB", 1.0 / (1024.0 * 1024.0)),
                Gauge::Connections | Gauge::Tasks => ("", 1.0),
            };
            let percent = trend.growth().map(|growth| 100.0 * growth);
            let excess = Excess {
                kind: match gauge {
                    Gauge::Connections => Kind::GrowingConnections,
                    Gauge::Tasks => Kind::GrowingTasks,
                    Gauge::Memory => Kind::GrowingMemory,
                },
                site: None,
                child: String::new(),
                value: percent.unwrap_or(f64::INFINITY),
                threshold: gauge.threshold(),
            };
            self.add(excess, |_| {
                format!(
                    "{}: from {} to {}{unit} over the launch, {} [{}, {}]{unit} a second \
                     (Mann–Kendall p {}). What is begun is not ended.",
                    gauge.grows(),
                    number((trend.from * scale).max(0.0)),
                    number(trend.to * scale),
                    number(trend.slope * scale),
                    number(trend.interval.low * scale),
                    number(trend.interval.high * scale),
                    p(trend.p_value)
                )
            });
        }
    }
}

fn p(value: f64) -> String {
    if value < 1e-4 {
        "< 0.0001".to_owned()
    } else {
        number(value)
    }
}

/// "The child `handler.poll`".
fn part(child: &str) -> String {
    if child == crate::measure::breakdown::OWN {
        "The own code".to_owned()
    } else {
        format!("The child `{child}`")
    }
}
