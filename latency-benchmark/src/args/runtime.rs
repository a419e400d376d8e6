//! Central's tokio runtime.

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use program::{Failure, bad_input, reject};
use run_format::{CROWD_FORMS, Crowd, RuntimeConfig, Scheduler};

pub(crate) const SETTING_FORMS: &str = "event_interval=N, global_queue_interval=N, lifo_slot=off, eager_driver_handoff=on, alt_timer=on, or several joined by commas";

pub(crate) fn with_settings(
    option: &str,
    runtime: RuntimeConfig,
    settings: &str,
) -> Result<RuntimeConfig, Failure> {
    let wrong = |why: String| bad_input(anyhow!("{option} {settings}: {why}"));
    let mut changed = runtime;
    for setting in settings.split(',') {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let ticks = value.parse().ok().filter(|ticks| *ticks > 0);
        match (name, value) {
            ("event_interval", _) if ticks.is_some() => changed.event_interval = ticks,
            ("global_queue_interval", _) if ticks.is_some() => {
                changed.global_queue_interval = ticks
            }
            ("lifo_slot", "off") => changed.lifo_slot_off = true,
            ("eager_driver_handoff", "on") => changed.eager_driver_handoff = true,
            ("alt_timer", "on") => changed.alt_timer = true,
            _ => return Err(wrong(format!("unknown (accepted: {SETTING_FORMS})"))),
        }
    }
    if changed.needs_unstable_tokio() && runtime.scheduler == Scheduler::CurrentThread {
        let why = "only a multi-thread runtime has it (accepted: --runtime multi-thread)";
        return Err(wrong(why.to_owned()));
    }
    Ok(changed)
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Central's runtime")]
pub(crate) struct RuntimeArgs {
    /// Central's tokio scheduler, current-thread or multi-thread, with event_interval=N or global_queue_interval=N after
    /// a comma [default: current-thread; with several workers: multi-thread]
    #[arg(long, value_name = "SCHEDULER")]
    runtime: Option<String>,
    /// Worker threads of central's runtime, each on its own core if there are enough
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,
    #[arg(long, value_name = "CROWD", help = format!("Keep central's runtime busy with other tasks: {CROWD_FORMS}"))]
    crowd: Option<Crowd>,
}

impl RuntimeArgs {
    /// The runtime. Without settings it has tokio's intervals.
    pub(crate) fn runtime(&self) -> Result<RuntimeConfig, Failure> {
        let given = self.runtime.as_deref().unwrap_or(match self.workers {
            1 => "current-thread",
            _ => "multi-thread",
        });
        let (scheduler, settings) = given.split_once(',').unwrap_or((given, ""));
        let Ok(scheduler) = Scheduler::from_str(scheduler, false) else {
            reject!(
                "--runtime {given}: unknown scheduler (accepted: current-thread, multi-thread)"
            );
        };
        if scheduler == Scheduler::CurrentThread && self.workers > 1 {
            reject!(
                "--workers {}: a current-thread runtime has one worker (accepted: --runtime multi-thread)",
                self.workers
            );
        }
        let runtime = RuntimeConfig {
            scheduler,
            workers: self.workers.into(),
            crowd: self.crowd,
            ..RuntimeConfig::CURRENT_THREAD
        };
        if settings.is_empty() {
            return Ok(runtime);
        }
        let runtime = with_settings("--runtime", runtime, settings)?;
        if runtime.needs_unstable_tokio() {
            reject!(
                "--runtime {given}: this setting needs another build of tokio (accepted: --runtime-setting {settings})"
            );
        }
        Ok(runtime)
    }
}
