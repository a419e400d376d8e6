//! The soak's arguments, and the soak that they ask for.

use clap::Args;
use program::{Failure, reject};
use run_format::churn::{CHURN_FORMS, Churn};
use run_format::config::RuntimeConfig;
use run_format::grid::Cell;
use run_format::number::decimal;
use run_format::soak::SoakConfig;
use run_format::{BUDGET_FORMS, Budgets};

use crate::args::budgets::refuse_unknown_sites;
use crate::args::hosts::HostArgs;
use crate::args::network::RttArg;
use crate::args::new_run::NewRunArgs;
use crate::args::node::{NodeArgs, PayloadArg};
use crate::node_program::NodeProgramArgs;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SoakArgs {
    /// Hours to measure, with decimals
    #[arg(long, default_value_t = 8.0, allow_hyphen_values = true, value_parser = decimal)]
    hours: f64,
    /// Number of peers
    #[arg(long, value_name = "N", default_value_t = 18)]
    peers: usize,
    #[command(flatten)]
    rtt: RttArg,
    #[command(flatten)]
    payload: PayloadArg,
    #[command(flatten)]
    node: NodeArgs,
    #[arg(long, value_name = "K/TIME", default_value = "none", allow_hyphen_values = true, help = format!("Restart one peer at a time, in turn, this often: {CHURN_FORMS}"))]
    churn: Churn,
    #[arg(long, value_name = "BUDGET", default_value = "none", help = format!("The budgets in force: {BUDGET_FORMS}"))]
    budget: Budgets,
    /// Length of a row of the series
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    pub(super) program: NodeProgramArgs,
    #[command(flatten)]
    pub(super) new_run: NewRunArgs,
}

const EXAMPLES: &str = "Examples:
  latency-benchmark soak --hours 8 --peers 18 --churn 1/min                        a night
  latency-benchmark soak --hours 0.1 --peers 2 --churn 12/min --interval 1         a first look
  latency-benchmark soak --hours 8 --peers 18 --workload idle --interval 30        does anything grow while the nodes are idle?
  latency-benchmark soak --hours 24 --peers 5 --rtt 50 --budget muxer=1/deferred --name deferred

Every row is written before the next one; `analysis report results/NAME` says what drifts.
Ctrl-C keeps all rows; a second Ctrl-C stops at once.
Exit codes: 0 measured to the end; 1 it failed, and the rows before are kept; 2 wrong arguments; 130 interrupted.";

impl SoakArgs {
    pub(super) fn config(&self) -> Result<SoakConfig, Failure> {
        const MOST_HOURS: f64 = 31.0 * 24.0;
        const MS_PER_HOUR: f64 = 3_600_000.0;
        if self.hours > MOST_HOURS {
            reject!(
                "--hours {}: a soak lasts at most {MOST_HOURS} hours",
                self.hours
            );
        }
        let duration_ms = (self.hours * MS_PER_HOUR).round() as u64;
        let interval_ms = self.interval * 1000;
        if interval_ms > duration_ms {
            reject!(
                "--interval {}: a soak of {} s has no row of that length (accepted: at most --hours)",
                self.interval,
                duration_ms as f64 / 1e3
            );
        }
        let node = self.node.node(self.program.stack)?;
        refuse_unknown_sites(self.program.stack, node, &self.budget)?;
        let (peers, rtt_ms, payload_bytes) = (self.peers, self.rtt.rtt, self.payload.payload);
        let load = self.node.load(payload_bytes)?;
        let lab = self.hosts.network(&[peers], &[rtt_ms], 1)?;
        Ok(SoakConfig {
            cell: Cell {
                peers,
                rtt_ms,
                payload_bytes,
            },
            duration_ms,
            interval_ms,
            churn: self.churn,
            budgets: self.budget,
            node,
            load,
            runtime: RuntimeConfig::CURRENT_THREAD,
            lab,
            seed: self.new_run.seed(),
        })
    }
}
