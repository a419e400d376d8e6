//! The arguments of `explain`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Command, FromArgMatches};
use program::{Failure, bad_input, reject};
use run_format::files::{MANIFEST, read_versioned};
use run_format::{
    BASELINE, Budgets, ExplainPlan, Manifest, Measurement, Role, Scheduler, SweepConfig,
};

use super::worst::{self, Chosen};
use crate::node_program::NodeProgramArgs;

#[derive(Args)]
#[command(after_help = "Examples:
  latency-benchmark explain results/NAME
  latency-benchmark explain results/NAME --cell pl262144_rtt000_n05 --budget muxer=2
  latency-benchmark explain results/NAME --cells 1 --dry-run
  latency-benchmark explain results/branches --cells 1     # a sweep of subjects: each of them, one after the other

This writes SWEEP/explain/ (see EXPLAIN.md), and `analysis report SWEEP` makes pictures and findings of it. The
evidence is stacks, allocations, performance counters, system calls, the slowest polls, and tasks that wake
themselves. strace counts system calls, if it is installed.
The report lists the evidence that this machine cannot give.

Exit codes: 0 every cell was explained; 1 some failed; 2 wrong arguments; 130 interrupted.")]
pub(crate) struct ExplainArgs {
    /// The folder of a sweep
    #[arg(value_name = "SWEEP")]
    pub(super) run: PathBuf,
    /// Explain this cell, repeatable [default: the worst]
    #[arg(long = "cell", value_name = "ID")]
    cell: Vec<String>,
    /// Number of cells with the most time beyond 50 µs. One more is added: the one with the most among the
    /// delayed cells
    #[arg(long, value_name = "COUNT", default_value_t = 3, conflicts_with = "cell", value_parser = clap::value_parser!(u16).range(1..=1000))]
    cells: u16,
    /// Compare this budget of the sweep with its baseline [default: the one with the least time beyond
    /// 50 µs]. Subjects are compared without a budget
    #[arg(long, value_name = "BUDGET")]
    budget: Option<Budgets>,
    /// Least number of blocks of slices for each cell, and for each subject
    #[arg(long, value_name = "COUNT", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: u32,
    /// Longest measurement of a cell. After its blocks, stacks are sampled until each variant that has slow polls has 300
    /// samples in them, or until this time is up
    // The default is enough for 300 samples of two variants that spend 5 ms of every second in slow polls.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    max_cell_seconds: u64,
    /// Print the cells and variants, and measure nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    program: NodeProgramArgs,
}

pub(super) struct AskedExplanation {
    /// The configuration of the sweep. Its measurement and the length of its turns are those of `explain`.
    pub(super) config: SweepConfig,
    pub(super) plan: ExplainPlan,
    pub(super) cells: Vec<Chosen>,
    /// The subjects to launch. If the sweep has no subjects, this is a single None.
    pub(super) subjects: Vec<Option<usize>>,
    pub(super) program: NodeProgramArgs,
}

impl ExplainArgs {
    /// The arguments for the worst cells of a sweep. All options have their defaults.
    pub(crate) fn defaults(run: &Path, program: NodeProgramArgs) -> Result<ExplainArgs> {
        let command = ExplainArgs::augment_args(Command::new("explain").no_binary_name(true));
        let parsed = command.try_get_matches_from([OsStr::new("--"), run.as_os_str()])?;
        let defaults = ExplainArgs::from_arg_matches(&parsed)?;
        Ok(ExplainArgs {
            program,
            ..defaults
        })
    }

    pub(super) fn asked(&self) -> Result<AskedExplanation, Failure> {
        let manifest: Manifest = read_versioned(&self.run.join(MANIFEST))
            .map_err(|error| bad_input(error.context("SWEEP: not the folder of a sweep")))?;
        let program = self.program.with_stack_of(&manifest);
        let mut config = manifest.config;
        refuse_multi_thread(&config)?;
        config.max_cell_ms = Some(self.max_cell_seconds * 1000);
        let measured = worst::measured(&config, &self.run)?;
        let cells = match self.cell.is_empty() {
            true => worst::worst(&measured, self.cells.into()),
            false => worst::asked_for(&measured, &self.cell)?,
        };
        let candidate = match self.budget {
            Some(budget) if !config.subjects.is_empty() => reject!(
                "--budget {budget}: subjects are compared without a budget (leave --budget out)"
            ),
            None if !config.subjects.is_empty() => None,
            None => worst::best_of(&candidates(&config), &measured, &cells),
            Some(budget) => Some(variant_with(&config, budget)?),
        };
        let plan = ExplainPlan {
            variants: [BASELINE].into_iter().chain(candidate).collect(),
            blocks: self.blocks,
        };
        // An A/A control shows how much times vary, and an explanation compares no times.
        let is_compared = |subject: &usize| config.subjects[*subject].role != Role::Control;
        let subjects = match config.subjects.len() {
            0 => vec![None],
            all => (0..all).filter(is_compared).map(Some).collect(),
        };
        config.measurement = Measurement::Explain(plan.clone());
        config.turn_ms = None;
        Ok(AskedExplanation {
            config,
            plan,
            cells,
            subjects,
            program,
        })
    }
}

fn candidates(config: &SweepConfig) -> Vec<usize> {
    let is_candidate = |variant: &usize| config.variants[*variant].role == Role::Candidate;
    (0..config.variants.len()).filter(is_candidate).collect()
}

pub(crate) fn refuse_multi_thread(config: &SweepConfig) -> Result<(), Failure> {
    if config.runtime.scheduler == Scheduler::MultiThread {
        reject!(
            "a sweep with a multi-thread runtime cannot be explained: only one thread can be observed (accepted: --runtime current-thread)"
        );
    }
    Ok(())
}

fn variant_with(config: &SweepConfig, budget: Budgets) -> Result<usize, Failure> {
    let compared = candidates(config);
    let has_budget = |candidate: &&usize| config.variants[**candidate].budgets == budget;
    if let Some(found) = compared.iter().find(has_budget) {
        return Ok(*found);
    }
    let label = |candidate: &usize| &*config.variants[*candidate].label;
    let labels: Vec<&str> = compared.iter().map(label).collect();
    reject!(
        "--budget {budget}: the sweep does not have it (accepted: {})",
        labels.join(", ")
    )
}
