//! Central's tokio runtime.

use anyhow::anyhow;
use clap::Args;
use program::{Failure, bad_input};
use run_format::config::{RuntimeConfig, Scheduler};

pub(crate) const SETTING_FORMS: &str = "event_interval=N, global_queue_interval=N, lifo_slot=off, eager_driver_handoff=on, or several joined by commas";

/// The runtime with settings of such a form.
pub(crate) fn with_settings(
    runtime: RuntimeConfig,
    settings: &str,
) -> Result<RuntimeConfig, Failure> {
    let wrong = |why: &str| bad_input(anyhow!("--runtime-setting {settings}: {why}"));
    let of_workers = runtime.scheduler == Scheduler::MultiThread;
    let mut changed = runtime;
    for setting in settings.split(',') {
        let ticks = |text: &str| text.parse().ok().filter(|ticks| *ticks > 0);
        match setting.split_once('=') {
            Some(("event_interval", text)) if ticks(text).is_some() => {
                changed.event_interval = ticks(text);
            }
            Some(("global_queue_interval", text)) if ticks(text).is_some() => {
                changed.global_queue_interval = ticks(text);
            }
            Some(("lifo_slot", "off")) if of_workers => changed.lifo_slot_off = true,
            Some(("eager_driver_handoff", "on")) if of_workers => {
                changed.eager_driver_handoff = true;
            }
            Some(("lifo_slot", "off") | ("eager_driver_handoff", "on")) => {
                return Err(wrong(
                    "only a multi-thread runtime has it (accepted: --runtime multi-thread)",
                ));
            }
            _ => return Err(wrong(&format!("unknown (accepted: {SETTING_FORMS})"))),
        }
    }
    Ok(changed)
}

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
