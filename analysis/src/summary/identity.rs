//! Where figures come from. The small print of pictures and a line of the report say this.

use std::collections::{BTreeMap, BTreeSet};

use run_format::files::{self, RUN};
use run_format::{
    DelayBackend, LabConfig, Machine, Manifest, NetworkReport, NodeConfig, Role, RunOutcome,
    RunRow, SubjectConfig, Tool,
};

use crate::load::Sweep;
use crate::load::application::Application;
use crate::metrics::checks::round_trips;
use crate::prose::{self, prose};
use crate::report_kind::ReportKind;
use crate::site::SiteNames;
use crate::text::{self, count, date, joined, joined_any};

#[derive(Clone, Debug, Default)]
pub(crate) struct Identity {
    pub(crate) name: String,
    /// The means by which the lab delayed packets, in cells with a delay.
    pub(crate) backends: Vec<DelayBackend>,
    /// The machines, by name. Launches that did not end name none.
    pub(crate) hosts: Vec<Machine>,
    /// A sentence about the network, if it was not a lab's.
    pub(crate) real_network: Option<String>,
    /// None for an application.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) application: Option<Application>,
    pub(crate) sites: SiteNames,
    pub(crate) took_ms: u64,
    /// The number of runs whose files have no checksums.
    pub(crate) unsealed: usize,
    /// A sentence for each subject whose nodes failed, for example because they stopped answering.
    pub(crate) failed_subjects: Vec<String>,
    /// A sentence for each subject that failed and was launched again without the inserted lines.
    pub(crate) without_lines: Vec<String>,
}

fn failed_subjects(sweep: &Sweep) -> Vec<String> {
    let runs = || sweep.cells.iter().flat_map(|cell| &cell.runs);
    let sentence = |(number, subject): (usize, &SubjectConfig)| {
        let all = runs().filter_map(|run| run.row.as_ref());
        let rows: Vec<&RunRow> = all
            .filter(|row| row.config.subject == Some(number))
            .collect();
        let node_failure = |row: &&RunRow| match &row.outcome {
            RunOutcome::Failed { stage, reason } if stage.is_of_nodes() => Some(reason.clone()),
            _ => None,
        };
        let failed: Vec<String> = rows.iter().filter_map(node_failure).collect();
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
        let run = sweep
            .dir
            .join(files::without_graft_folder(number))
            .join(RUN);
        let row: RunRow = files::read_document(&run).ok()?;
        Some(format!(
            "`{}` {}",
            subject.label,
            row.outcome.sentence_without_graft()
        ))
    };
    subjects.filter_map(sentence).collect()
}

impl Identity {
    pub(crate) fn from_sweep(sweep: &Sweep) -> Identity {
        let runs = sweep.cells.iter().flat_map(|cell| &cell.runs);
        let rows = runs.filter_map(|run| run.row.as_ref());
        let labs = rows.clone().filter_map(|row| row.network.lab.as_ref());
        let mut backends: Vec<DelayBackend> = labs.filter_map(|lab| lab.backend).collect();
        backends.sort_by_key(ToString::to_string);
        backends.dedup();
        let default_machine = &sweep.manifest.machine;
        let machines = rows
            .clone()
            .map(|row| row.machine.as_ref().unwrap_or(default_machine));
        let mut hosts: BTreeMap<_, _> = machines
            .map(|machine| (text::host(machine), machine.clone()))
            .collect();
        if hosts.is_empty() {
            hosts.insert(String::new(), default_machine.clone());
        }
        let networks = rows.clone().map(|row| &row.network);
        // Subjects that take turns share their time.
        let took_ms = |row: &RunRow| row.took_ms / (1 + row.config.beside as u64);
        Identity {
            name: sweep.name(),
            backends,
            hosts: hosts.into_values().collect(),
            real_network: real_network_words(&sweep.manifest.config.lab, networks),
            manifest: (sweep.application.is_none()).then(|| sweep.manifest.clone()),
            application: sweep.application.clone(),
            sites: match &sweep.application {
                Some(application) => SiteNames::in_application(&application.sites),
                None => SiteNames::recorded(&sweep.manifest.tool, &sweep.manifest.config.node),
            },
            took_ms: rows.clone().map(took_ms).sum(),
            unsealed: rows.filter(|row| row.files.is_none()).count(),
            failed_subjects: failed_subjects(sweep),
            without_lines: without_lines(sweep),
        }
    }

    /// Whether the sweep compares subjects (versions of the stack) instead of budgets only.
    pub(crate) fn has_subjects(&self) -> bool {
        let manifest = self.manifest.as_ref();
        manifest.is_some_and(|manifest| !manifest.config.subjects.is_empty())
    }

    /// Whether the peers run this subject, too. False for the first subject, which is the baseline.
    pub(crate) fn is_at_both_ends(&self, subject: usize) -> bool {
        let manifest = self.manifest.iter();
        let subjects = manifest.flat_map(|manifest| &manifest.config.subjects);
        let mut others = subjects.enumerate().skip(1);
        others.any(|(index, other)| index == subject && other.peers == subject)
    }

    pub(crate) fn kind(&self) -> ReportKind {
        match self.application {
            Some(_) => ReportKind::Application,
            None => ReportKind::Sweep,
        }
    }

    pub(crate) fn line(&self) -> String {
        let manifest = self.manifest.iter();
        let created = manifest.map(|manifest| manifest.created_unix_s);
        let application = self.application.iter();
        let begun = application.map(|application| application.file.created_unix_s);
        prose::text(&prose!('a "identity.txt" {
            identity: &'a Identity = self,
            day: String = date(begun.chain(created).next().unwrap_or_default()),
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
    let all = manifest.config.subjects.iter();
    let subjects = all.filter(|subject| subject.role != Role::Control);
    let labels = joined_any(subjects.map(|subject| &subject.label), " and ");
    labels.unwrap_or_else(|| upstream_words(&manifest.tool))
}

pub(crate) fn node_words(node: &NodeConfig) -> String {
    prose::text(&prose!('a "node.txt" { node: &'a NodeConfig = node }))
}

pub(crate) fn upstream_words(tool: &Tool) -> String {
    let crates = tool.upstream.iter();
    let names = crates.map(|upstream| format!("{} {}", upstream.name, upstream.version));
    joined(names, ", ")
}

/// The hosts in words, such as "2 hosts: d1, d2 (2 cores of …)". A single host has no name.
pub(crate) fn host_words(hosts: &[Machine]) -> String {
    if let [machine] = hosts {
        return text::machine(machine);
    }
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for machine in hosts {
        let name = machine.host.as_deref().unwrap_or("one without a name");
        alike.entry(text::machine(machine)).or_default().push(name);
    }
    let groups = alike
        .iter()
        .map(|(machine, names)| format!("{} ({machine})", names.join(", ")));
    format!("{}: {}", count(hosts.len(), "host"), joined(groups, "; "))
}

pub(crate) fn tool_words(tool: &Tool) -> String {
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

/// A sentence about a network that is not a lab's: the hosts, the round trips and central's network cards. None for a lab.
pub(crate) fn real_network_words<'a>(
    lab: &LabConfig,
    runs: impl Iterator<Item = &'a NetworkReport> + Clone,
) -> Option<String> {
    let peers = lab.peer_hosts.as_ref()?;
    let hosts = peers.hosts.iter().map(|host| host.name.to_string());
    let times = round_trips(runs.clone());
    Some(prose::text(&prose!('a "real_network.txt" {
        hosts: Vec<String> = hosts.collect(),
        command: String = peers.command.join(" "),
        times: Option<(f64, f64, f64)> = times.map(|rtt| (rtt.least, rtt.upper_median, rtt.greatest)),
        congestion_control: &'a str = &lab.congestion_control,
        cards: BTreeSet<String> = runs.flat_map(|run| &run.cards).map(ToString::to_string).collect(),
    })))
}
