//! Central's tokio runtime.

use anyhow::anyhow;
use clap::Args;
use program::{Failure, bad_input};
use run_format::config::{RuntimeConfig, Scheduler};

#[derive(Args, Clone, Debug)]
pub(crate) struct RuntimeArgs {
    /// Central's tokio scheduler [default: current-thread; with several workers: multi-thread]
    #[arg(long, value_enum, value_name = "SCHEDULER")]
    runtime: Option<Scheduler>,
    /// Worker threads of central's runtime, each on a core of its own as far as there are enough
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,
}

impl RuntimeArgs {
    /// The runtime, with tokio's intervals.
    pub(crate) fn runtime(&self) -> Result<RuntimeConfig, Failure> {
        let scheduler = self.runtime.unwrap_or(match self.workers {
            1 => Scheduler::CurrentThread,
            _ => Scheduler::MultiThread,
        });
        if scheduler == Scheduler::CurrentThread && self.workers > 1 {
            return Err(bad_input(anyhow!(
                "--workers {}: a current-thread runtime has one worker (accepted: --runtime multi-thread)",
                self.workers
            )));
        }
        Ok(RuntimeConfig {
            scheduler,
            workers: self.workers.into(),
            ..RuntimeConfig::CURRENT_THREAD
        })
    }
}
