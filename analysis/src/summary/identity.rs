//! Where figures come from: the small print of a picture and a line of a report.

use std::collections::{BTreeMap, BTreeSet};

use run_format::files::{self, RUN};
use run_format::{
    DelayBackend, End, LabConfig, Machine, Manifest, NetworkReport, NodeConfig, Role, RunRow,
    SubjectConfig, Tool,
};

use crate::load::Sweep;
use crate::load::application::Application;
use crate::measure::checks::round_trips;
use crate::prose::{self, prose};
use crate::site::SiteNames;
use crate::text::{self, count, date, joined, joined_any};

#[derive(Clone, Debug, Default)]
pub(crate) struct Identity {
    pub(crate) name: String,
    /// What made the delay, in the cells that have a delay.
    pub(crate) backends: Vec<DelayBackend>,
    /// The machines, by name. Those of launches that did not end are not among them.
    pub(crate) hosts: Vec<Machine>,
    /// What there is to say if the network was no lab's.
    pub(crate) real_network: Option<String>,
    /// Absent for a published table, and for an application.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) application: Option<Application>,
    pub(crate) sites: SiteNames,
    pub(crate) took_ms: u64,
    /// The number of runs whose files have no checksums.
    pub(crate) unsealed: usize,
    /// A sentence for each subject that failed after it had begun, such as one that stops answering.
    pub(crate) stopped: Vec<String>,
    /// What is known of subjects that failed from launches without the inserted lines.
    pub(crate) without_lines: Vec<String>,
}

fn stopped(sweep: &Sweep) -> Vec<String> {
    let runs = || sweep.cells.iter().flat_map(|cell| &cell.runs);
    let sentence = |(number, subject): (usize, &SubjectConfig)| {
        let rows = runs().filter_map(|run| run.row.as_ref());
        let rows: Vec<&RunRow> = rows
            .filter(|row| row.config.subject == Some(number))
            .collect();
        let reason = |row: &&RunRow| match &row.end {
            End::Failed { stage, reason } if stage.is_of_nodes() => Some(reason.clone()),
            _ => None,
        };
        let failed: Vec<String> = rows.iter().filter_map(reason).collect();
        let reason = failed.first()?;
        Some(format!(
            "`{}` failed in {} of {} launches: {reason}.",
            subject.label,
            failed.len(),
            rows.len()
        ))
    };
    let subjects = sweep.manifest.config.subjects.iter().enumerate();
    subjects.filter_map(sentence).collect()
}

fn without_lines(sweep: &Sweep) -> Vec<String> {
    let subjects = sweep.manifest.config.subjects.iter().enumerate();
    let sentence = |(number, subject): (usize, &SubjectConfig)| {
        let run = sweep.dir.join(files::without_lines(number)).join(RUN);
        let row: RunRow = files::read_document(&run).ok()?;
        Some(format!("`{}` {}", subject.label, row.end.without_lines()))
    };
    subjects.filter_map(sentence).collect()
}

impl Identity {
    pub(crate) fn of(sweep: &Sweep) -> Identity {
        let runs = sweep.cells.iter().flat_map(|cell| &cell.runs);
        let rows = runs.filter_map(|run| run.row.as_ref());
        let labs = rows.clone().filter_map(|row| row.network.lab.as_ref());
        let backends = labs.filter_map(|lab| lab.backend);
        let mut backends: Vec<DelayBackend> = backends.collect();
        backends.sort_by_key(ToString::to_string);
        backends.dedup();
        let of_sweep = &sweep.manifest.machine;
        let machines = rows.clone();
        let machines = machines.map(|row| row.machine.as_ref().unwrap_or(of_sweep));
        let mut hosts: BTreeMap<_, _> = machines.map(|it| (text::host(it), it.clone())).collect();
        if hosts.is_empty() {
            hosts.insert(String::new(), of_sweep.clone());
        }
        let networks = rows.clone().map(|row| &row.network);
        // Programs that take turns take their time together.
        let took_ms = |row: &RunRow| row.took_ms / (1 + row.config.beside as u64);
        Identity {
            name: sweep.name(),
            backends,
            hosts: hosts.into_values().collect(),
            real_network: of_real_network(&sweep.manifest.config.lab, networks),
            manifest: (sweep.application.is_none()).then(|| sweep.manifest.clone()),
            application: sweep.application.clone(),
            sites: match &sweep.application {
                Some(application) => SiteNames::of_application(&application.sites),
                None => SiteNames::of(Some((&sweep.manifest.tool, &sweep.manifest.config.node))),
            },
            took_ms: rows.clone().map(took_ms).sum(),
            unsealed: rows.filter(|row| row.files.is_none()).count(),
            stopped: stopped(sweep),
            without_lines: without_lines(sweep),
        }
    }

    /// Whether the sweep compares subjects (versions of the stack) instead of budgets only.
    pub(crate) fn has_subjects(&self) -> bool {
        let manifest = self.manifest.as_ref();
        manifest.is_some_and(|manifest| !manifest.config.subjects.is_empty())
    }

    /// Whether the peers run this program, too, if it is not the first one.
    pub(crate) fn is_at_both_ends(&self, subject: usize) -> bool {
        let subjects = self
            .manifest
            .iter()
            .flat_map(|manifest| &manifest.config.subjects);
        let mut others = subjects.enumerate().skip(1);
        others.any(|(at, other)| at == subject && other.peers == subject)
    }

    /// Whose terms a report explains.
    pub(crate) fn kind(&self) -> &'static str {
        match self.application {
            Some(_) => "application",
            None => "sweep",
        }
    }

    pub(crate) fn is_published(&self) -> bool {
        self.manifest.is_none() && self.application.is_none()
    }

    pub(crate) fn line(&self) -> String {
        let of_sweep = self.manifest.as_ref().map(|it| it.created_unix_s);
        let begun = self.application.as_ref().map(|it| it.file.created_unix_s);
        prose::text(&prose!('a "identity.txt" {
            identity: &'a Identity = self,
            day: String = date(begun.or(of_sweep).unwrap_or_default()),
        }))
    }

    pub(crate) fn machines(&self) -> String {
        match &self.hosts[..] {
            [machine] => text::machine(machine),
            hosts => count(hosts.len(), "host"),
        }
    }

    pub(crate) fn delay(&self) -> String {
        match self.backends.as_slice() {
            _ if self.real_network.is_some() => "a real network".to_owned(),
            [] => "no delay".to_owned(),
            backends => format!("delay by {}", joined(backends, " and ")),
        }
    }
}

fn measured(manifest: &Manifest) -> String {
    let subjects = manifest.config.subjects.iter();
    let subjects = subjects.filter(|subject| subject.role != Role::Control);
    let labels = joined_any(subjects.map(|it| &it.label), " and ");
    labels.unwrap_or_else(|| of_upstream(&manifest.tool))
}

pub(crate) fn of_node(node: &NodeConfig) -> String {
    prose::text(&prose!('a "node.txt" { node: &'a NodeConfig = node }))
}

pub(crate) fn of_upstream(tool: &Tool) -> String {
    let crates = tool.upstream.iter();
    let names = crates.map(|upstream| format!("{} {}", upstream.name, upstream.version));
    joined(names, ", ")
}

/// "2 hosts: d1, d2 (2 cores of …)", or what the only one is like.
pub(crate) fn of_hosts(hosts: &[Machine]) -> String {
    if let [machine] = hosts {
        return text::machine(machine);
    }
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for machine in hosts {
        let name = machine.host.as_deref().unwrap_or("one without a name");
        alike.entry(text::machine(machine)).or_default().push(name);
    }
    let alike = alike.iter();
    let alike = alike.map(|(machine, names)| format!("{} ({machine})", names.join(", ")));
    format!("{}: {}", count(hosts.len(), "host"), joined(alike, "; "))
}

pub(crate) fn of_tool(tool: &Tool) -> String {
    const SHORT: usize = 10;
    let commit = tool.commit.as_deref().map_or_else(String::new, |commit| {
        let short: String = commit.chars().take(SHORT).collect();
        match commit.ends_with("-dirty") {
            true => format!(" ({short}, with uncommitted changes)"),
            false => format!(" ({short})"),
        }
    });
    format!("latency-benchmark {}{commit}", tool.version)
}

/// What is said of a network that is no lab's: the hosts, the round trips and central's network cards. None of a lab.
pub(crate) fn of_real_network<'a>(
    lab: &LabConfig,
    runs: impl Iterator<Item = &'a NetworkReport> + Clone,
) -> Option<String> {
    let of = lab.peer_hosts.as_ref()?;
    let hosts = of.hosts.iter().map(|host| host.name.to_string());
    Some(prose::text(&prose!('a "real_network.txt" {
        hosts: Vec<String> = hosts.collect(),
        command: String = of.command.join(" "),
        times: Option<(f64, f64, f64)> = round_trips(runs.clone()),
        congestion_control: &'a str = &lab.congestion_control,
        cards: BTreeSet<String> = runs.flat_map(|run| &run.cards).map(ToString::to_string).collect(),
    })))
}
