//! The soak's arguments, and the soak that they ask for.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use lab::Rtt;
use poll_probe::{BUDGET_FORMS, Budgets};

use super::churn::{CHURN_FORMS, Churn};
use crate::{
    args::{
        network::NetworkArgs,
        node::{NodeArgs, PayloadArg},
    },
    config::RuntimeConfig,
    failure::{Failure, bad_input},
    grid::Cell,
    store::{new_folder, soak::SoakConfig},
    sweep::args::peers_in_range,
};

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SoakArgs {
    /// How long, with decimals
    #[arg(long, default_value_t = 8.0, allow_hyphen_values = true)]
    hours: f64,
    /// How many peers
    #[arg(long, value_name = "N", default_value_t = 18)]
    peers: usize,
    /// Round-trip time of every link in ms, with decimals
    #[arg(
        long,
        value_name = "MS",
        default_value = "0",
        allow_hyphen_values = true
    )]
    rtt: Rtt,
    #[command(flatten)]
    payload: PayloadArg,
    #[command(flatten)]
    node: NodeArgs,
    #[arg(long, value_name = "K/TIME", default_value = "none", allow_hyphen_values = true, help = format!("How often a peer, by turns, is stopped and started again: {CHURN_FORMS}"))]
    churn: Churn,
    #[arg(long, value_name = "BUDGET", default_value = "none", help = format!("The budgets in force: {BUDGET_FORMS}"))]
    budget: Budgets,
    /// How long a row of the series is
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
    #[command(flatten)]
    network: NetworkArgs,
    /// What the random turns come from [default: a random one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// The folder for runs
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// The run's name, a new folder there [default: date and time]
    #[arg(long)]
    name: Option<String>,
}

const EXAMPLES: &str = "Examples:
  soak --hours 8 --peers 18 --churn 1/min                        a night
  soak --hours 0.1 --peers 2 --churn 12/min --interval 1         a first look
  soak --hours 8 --peers 18 --workload idle --interval 30        does anything grow while nothing happens?
  soak --hours 24 --peers 5 --rtt 50 --budget muxer=1/deferred --name deferred

Every row is on disk before the next; `analysis report results/NAME` says what drifts.
Ctrl-C keeps all rows; a second one stops at once.
Exit codes: 0 measured to the end; 1 it broke, and the rows before are kept; 2 wrong arguments; 130 interrupted.";

impl SoakArgs {
    /// What to do, and the folder to do it in.
    pub(super) fn asked(self) -> Result<(SoakConfig, PathBuf), Failure> {
        let config = self.config()?;
        let name = new_folder::name(self.name)?;
        Ok((config, self.out.join(name)))
    }

    fn config(&self) -> Result<SoakConfig, Failure> {
        const MOST_HOURS: f64 = 31.0 * 24.0;
        const MS_PER_HOUR: f64 = 3_600_000.0;
        let wrong = |text: String| Err(bad_input(anyhow!(text)));
        if !(self.hours > 0.0 && self.hours <= MOST_HOURS) {
            return wrong(format!(
                "--hours {}: a soak lasts more than 0 and at most {MOST_HOURS} hours",
                self.hours
            ));
        }
        let duration_ms = (self.hours * MS_PER_HOUR).round() as u64;
        let interval_ms = self.interval * 1000;
        if interval_ms > duration_ms {
            return wrong(format!(
                "--interval {}: a soak of {} s has no row of that length (accepted: at most --hours)",
                self.interval,
                duration_ms as f64 / 1e3
            ));
        }
        peers_in_range(&[self.peers])?;
        Ok(SoakConfig {
            cell: Cell {
                peers: self.peers,
                rtt_ms: self.rtt,
                payload_bytes: self.payload.payload,
            },
            duration_ms,
            interval_ms,
            churn: self.churn,
            budgets: self.budget,
            node: self.node.node()?,
            load: self.node.load(self.payload.payload)?,
            runtime: RuntimeConfig {
                workers: 1,
                event_interval: None,
                global_queue_interval: None,
            },
            lab: self.network.checked(&[self.rtt])?,
            // What a file of numbers can hold exactly, whoever reads it.
            seed: self
                .seed
                .unwrap_or_else(|| u64::from(rand::random::<u32>())),
        })
    }
}
