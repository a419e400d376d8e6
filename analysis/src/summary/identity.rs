//! Which run it is: what a picture has in small print and a report at its end.

use std::time::{Duration, UNIX_EPOCH};

use crate::load::{
    Sweep,
    manifest::{Machine, Manifest, Tool},
    variant::Role,
};

/// What is known of where figures come from.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The name of the sweep's folder, or of a table's file.
    pub(crate) name: String,
    /// The backends that made the delay in the cells that have one.
    pub(crate) backends: Vec<String>,
    /// Absent for a table that was published without one.
    pub(crate) manifest: Option<Manifest>,
}

impl Identity {
    pub(crate) fn of(sweep: &Sweep) -> Identity {
        let mut backends: Vec<String> = sweep
            .cells
            .iter()
            .flat_map(|cell| &cell.runs)
            .filter_map(|run| run.row.as_ref()?.network.lab.as_ref()?.backend.clone())
            .collect();
        backends.sort();
        backends.dedup();
        Identity {
            name: sweep.name(),
            backends,
            manifest: Some(sweep.manifest.clone()),
        }
    }

    /// Whether programs are compared.
    pub(crate) fn has_subjects(&self) -> bool {
        let manifest = self.manifest.as_ref();
        manifest.is_some_and(|manifest| !manifest.config.subjects.is_empty())
    }

    /// In one line.
    pub(crate) fn line(&self) -> String {
        let Some(manifest) = &self.manifest else {
            return format!("{}: published figures, one run per cell", self.name);
        };
        let node = &manifest.config.node;
        let parts = [
            format!("sweep {} of {}", self.name, date(manifest.created_unix_s)),
            measured(manifest),
            format!(
                "{} over {}, {}",
                node.workload, node.transport, node.security
            ),
            machine(manifest),
            self.delay(),
            tool(manifest),
        ];
        parts.join(" · ")
    }

    pub(crate) fn delay(&self) -> String {
        match self.backends.as_slice() {
            [] => "no delay".to_owned(),
            backends => format!("delay by {}", backends.join(" and ")),
        }
    }
}

/// What was measured: the subjects, or the crates that all variants share.
fn measured(manifest: &Manifest) -> String {
    let subjects = manifest.config.subjects.iter();
    let labels: Vec<&str> = subjects
        .filter(|subject| subject.role != Role::Twin)
        .map(|subject| subject.label.as_str())
        .collect();
    if labels.is_empty() {
        upstream(manifest)
    } else {
        labels.join(" against ")
    }
}

/// The day, in UTC.
pub(crate) fn date(unix_s: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_secs(unix_s);
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

pub(crate) fn upstream(manifest: &Manifest) -> String {
    of_upstream(&manifest.tool)
}

pub(crate) fn of_upstream(tool: &Tool) -> String {
    let crates = tool.upstream.iter();
    let names: Vec<String> = crates
        .map(|upstream| format!("{} {}", upstream.name, upstream.version))
        .collect();
    names.join(", ")
}

pub(crate) fn machine(manifest: &Manifest) -> String {
    of_machine(&manifest.machine)
}

pub(crate) fn of_machine(machine: &Machine) -> String {
    let cores = machine
        .cores
        .map_or_else(String::new, |cores| format!("{cores} cores of "));
    let cpu = machine.cpu.as_deref().unwrap_or("an unknown CPU");
    let kernel = machine
        .kernel
        .as_deref()
        .map_or_else(String::new, |kernel| format!(", Linux {kernel}"));
    format!("{cores}{cpu}{kernel}")
}

pub(crate) fn tool(manifest: &Manifest) -> String {
    of_tool(&manifest.tool)
}

pub(crate) fn of_tool(tool: &Tool) -> String {
    const SHORT: usize = 10;
    let commit = tool.commit.as_deref().map_or_else(String::new, |commit| {
        let short: String = commit.chars().take(SHORT).collect();
        let dirty = if commit.ends_with("-dirty") {
            ", changed"
        } else {
            ""
        };
        format!(" ({short}{dirty})")
    });
    format!("latency-benchmark {}{commit}", tool.version)
}
