//! What is to be explained.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use poll_probe::Budgets;

use super::{
    refuse_subjects,
    worst::{self, Chosen},
};
use crate::{
    config::{ExplainConfig, Role},
    failure::{Failure, bad_input},
    store::{
        MANIFEST, SCHEMA,
        manifest::{Manifest, SweepConfig},
    },
};

#[derive(Args)]
#[command(after_help = "Examples:
  latency-benchmark explain results/default
  latency-benchmark explain results/default --cell pl262144_rtt000_n05 --budget muxer=2
  latency-benchmark explain results/default --cells 1 --list

Writes RUN/explain/ (see EXPLAIN.md); `analysis report RUN` makes pictures and findings of it. Collected are
stacks, allocations, performance counters, system calls, the slowest polls, tasks that wake themselves, and
how slow polls are on a core that is kept warm. What this machine cannot tell is named there.

Exit code: 0 all was explained, 1 some cell failed, 2 bad arguments, 130 interrupted.")]
pub(crate) struct ExplainArgs {
    /// The folder of a sweep
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Explain this cell, repeatable [default: the worst]
    #[arg(long = "cell", value_name = "ID")]
    cell: Vec<String>,
    /// So many cells: those with the most time in slow polls. Of the cells with a delay, the one with the
    /// largest share of slow polls is added
    #[arg(long, value_name = "COUNT", default_value_t = 3, conflicts_with = "cell", value_parser = clap::value_parser!(u16).range(1..=1000))]
    cells: u16,
    /// Hold this budget of the sweep against its baseline [default: the one with the least time in slow
    /// polls]
    #[arg(long, value_name = "BUDGET")]
    budget: Option<Budgets>,
    /// How many blocks of slices each cell gets
    #[arg(long, value_name = "COUNT", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: u32,
    /// Only say which cells and variants it would be
    #[arg(long)]
    list: bool,
}

/// What was asked for.
pub(super) struct Asked {
    pub(super) run: PathBuf,
    /// Of the sweep.
    pub(super) config: SweepConfig,
    pub(super) explain: ExplainConfig,
    pub(super) cells: Vec<Chosen>,
    pub(super) only_list: bool,
}

impl ExplainArgs {
    pub(super) fn asked(self) -> Result<Asked, Failure> {
        let config = self.sweep().map_err(bad_input)?;
        refuse_subjects(&config)?;
        config.node.checked()?;
        if config.runtime.workers != 1 {
            return Err(bad_input(anyhow!(
                "RUN {}: its central has {} workers, and only one can be looked at (sweep with --workers 1)",
                self.run.display(),
                config.runtime.workers
            )));
        }
        let measured = worst::measured(&config, &self.run)?;
        let cells = if self.cell.is_empty() {
            worst::worst(&measured, self.cells.into())
        } else {
            worst::asked_for(&measured, &self.cell)?
        };
        let candidates: Vec<usize> = (0..config.variants.len())
            .filter(|&variant| config.variants[variant].role == Role::Candidate)
            .collect();
        let held_against = match self.budget {
            None => worst::best_of(&candidates, &measured, &cells),
            Some(budget) => Some(find(&config, &candidates, budget)?),
        };
        let variants = [0].into_iter().chain(held_against).collect();
        Ok(Asked {
            run: self.run,
            config,
            explain: ExplainConfig {
                variants,
                blocks: self.blocks,
            },
            cells,
            only_list: self.list,
        })
    }

    fn sweep(&self) -> Result<SweepConfig> {
        let path = self.run.join(MANIFEST);
        let read = || -> Result<Manifest> {
            let manifest: Manifest = serde_json::from_str(&fs::read_to_string(&path)?)?;
            if manifest.schema != SCHEMA {
                return Err(anyhow!(
                    "it has schema {}, and this is {SCHEMA}",
                    manifest.schema
                ));
            }
            Ok(manifest)
        };
        let manifest =
            read().with_context(|| format!("RUN: {} is no manifest of a sweep", path.display()))?;
        Ok(manifest.config)
    }
}

fn find(config: &SweepConfig, candidates: &[usize], budget: Budgets) -> Result<usize, Failure> {
    let is_it = |&&variant: &&usize| config.variants[variant].budgets == budget;
    candidates.iter().find(is_it).copied().ok_or_else(|| {
        let labels: Vec<&str> = candidates
            .iter()
            .map(|&variant| &*config.variants[variant].label)
            .collect();
        bad_input(anyhow!(
            "--budget {budget}: the sweep has no such budget (accepted: {})",
            labels.join(", ")
        ))
    })
}
