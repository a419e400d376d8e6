//! `manifest.json`: what was asked for, with what and where. Only the fields that are used.

use std::path::Path;

use anyhow::{Result, bail};
use serde::Deserialize;

use super::{
    json,
    subject::Subject,
    variant::{Role, Variant},
};
use crate::grid::Axes;

/// The schema of the files that this reads.
pub(crate) const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) command: Vec<String>,
    pub(crate) created_unix_s: u64,
    pub(crate) config: SweepConfig,
    pub(crate) tool: Tool,
    pub(crate) machine: Machine,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SweepConfig {
    pub(crate) axes: Axes,
    /// Budgets that take turns inside a program.
    pub(crate) variants: Vec<Variant>,
    /// Programs that take turns, if there are several.
    #[serde(default)]
    pub(crate) subjects: Vec<Subject>,
    pub(crate) node: Node,
    pub(crate) pace: serde_json::Value,
    pub(crate) runtime: Runtime,
    pub(crate) lab: LabConfig,
    pub(crate) repeat: u32,
    pub(crate) max_cell_ms: u64,
    pub(crate) seed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Node {
    pub(crate) workload: String,
    pub(crate) security: String,
    pub(crate) transport: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Runtime {
    pub(crate) workers: u32,
    pub(crate) event_interval: Option<u32>,
    pub(crate) global_queue_interval: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct LabConfig {
    pub(crate) loss_percent: Option<f64>,
    pub(crate) jitter_ms: Option<f64>,
    pub(crate) congestion_control: String,
    pub(crate) placement: Placement,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Placement {
    pub(crate) central: u32,
    pub(crate) peers: String,
    pub(crate) sharing: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Tool {
    pub(crate) version: String,
    pub(crate) commit: Option<String>,
    pub(crate) profile: String,
    pub(crate) rustc: String,
    pub(crate) upstream: Vec<Upstream>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Machine {
    pub(crate) kernel: Option<String>,
    pub(crate) cpu: Option<String>,
    pub(crate) cores: Option<u32>,
    pub(crate) memory_kib: Option<u64>,
    pub(crate) clock_source: Option<String>,
    pub(crate) governor: Option<String>,
}

impl SweepConfig {
    /// Everything under comparison: the budgets, or those of every subject.
    pub(crate) fn compared(&self) -> Vec<Variant> {
        if self.subjects.is_empty() {
            self.variants.clone()
        } else {
            of_subjects(&self.subjects, &self.variants)
        }
    }
}

impl Manifest {
    pub(crate) fn read(path: &Path) -> Result<Manifest> {
        let manifest: Manifest = json(path, SCHEMA)?;
        let is_baseline = |variant: &Variant| variant.role == Role::Baseline;
        let variants = &manifest.config.variants;
        if !variants.first().is_some_and(is_baseline) || variants[1..].iter().any(is_baseline) {
            bail!(
                "{}: the first variant, and no other, is the baseline",
                path.display()
            );
        }
        Ok(manifest)
    }
}

/// Every budget of every subject, those of the first subject first. The baseline is the first budget of the
/// first subject, and its twin that of the subject's twin.
fn of_subjects(subjects: &[Subject], budgets: &[Variant]) -> Vec<Variant> {
    let of_subject = |(number, subject): (usize, &Subject)| {
        let variant = |(at, variant): (usize, &Variant)| Variant {
            label: if budgets.len() == 1 {
                subject.label.clone()
            } else {
                format!("{}, {}", subject.label, variant.label)
            },
            role: if at == 0 {
                subject.role
            } else {
                Role::Candidate
            },
            subject: number,
            ..variant.clone()
        };
        budgets.iter().enumerate().map(variant).collect::<Vec<_>>()
    };
    subjects.iter().enumerate().flat_map(of_subject).collect()
}
