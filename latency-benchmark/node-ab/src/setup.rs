//! The settings of a comparison, and the handle of a running one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};
use std::{env, fs};

use anyhow::{Context, anyhow};
use poll_probe::{Variant, count_muxer_bytes, locked};
use run_format::files::{APPLICATION, SCHEMA, unix_s, write_json};
use run_format::{
    ApplicationFile, ApplicationOutcome, Budgets, Ends, Machine, RuntimeConfig, Scheduler,
    VariantConfig,
};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::guard::{Check, Guard};
use crate::length::PIECE;
use crate::live::Feed;
use crate::recording::{CounterReader, Recording};
use crate::slices::cotenant::Cotenant;
use crate::slices::{Observers, ms};
use crate::{Error, SwitchedOn};

/// The shortest turn. In a shorter one, late work of the turn before would be a large part.
const SHORTEST: Duration = Duration::from_millis(20);

/// The settings of a comparison.
#[must_use = "nothing happens before `start`"]
pub struct Setup {
    on: Option<SwitchedOn>,
    budgets: Vec<String>,
    dir: PathBuf,
    turn: Option<Duration>,
    settling: Duration,
    timer_limit: Duration,
    check: Option<Check>,
}

impl Setup {
    pub(crate) fn new(on: Option<SwitchedOn>, budgets: Vec<String>) -> Setup {
        Setup {
            on,
            budgets,
            dir: PathBuf::from("ab-run"),
            turn: None,
            settling: Duration::from_millis(50),
            timer_limit: Duration::from_millis(100),
            check: None,
        }
    }

    /// The folder of the run, `ab-run` by default. If the folder exists, a number is added to its name.
    pub fn write_to(mut self, dir: impl Into<PathBuf>) -> Setup {
        self.dir = dir.into();
        self
    }

    /// The length of a turn, in which one budget is in force and measured. By default it is 250 ms, or longer if the load
    /// comes in longer bursts. That is found in the first twentieth of the comparison, in which no budget is in force.
    pub fn turn(mut self, turn: Duration) -> Setup {
        self.turn = Some(turn);
        self
    }

    /// The time after each change of budgets that is not measured, 50 ms by default. A poll that began in a turn counts only
    /// if it ends within this time after the turn.
    pub fn settling(mut self, settling: Duration) -> Setup {
        self.settling = settling;
        self
    }

    /// How late timers of the runtime may be in a turn (99th percentile), 100 ms by default. If they are later, the comparison
    /// ends.
    pub fn timer_limit(mut self, timer_limit: Duration) -> Setup {
        self.timer_limit = timer_limit;
        self
    }

    /// A check of the application's own, called about 100 times a second on the recording thread. If it returns a
    /// reason, the comparison ends.
    pub fn check(mut self, check: impl FnMut() -> Result<(), String> + Send + 'static) -> Setup {
        self.check = Some(Box::new(check));
        self
    }

    /// Starts to compare. Call it inside the runtime whose delays matter, because the co-tenants run there. If `NODE_AB` is
    /// off it does nothing.
    ///
    /// The environment variable `NODE_AB_CONTROL` may name a control file. While that says anything else than `on`, such as
    /// `off`, the comparison is paused: no budget is in force, nothing is recorded, and the time does not count.
    pub fn start(self) -> Result<Running, Error> {
        let Some(SwitchedOn { process, time }) = self.on.clone() else {
            return Ok(Running { at_work: None });
        };
        let variants = variants_to_compare(&self.budgets)?;
        if let Some(turn) = self.turn.filter(|turn| *turn < SHORTEST) {
            let least = SHORTEST.as_millis();
            let wrong = anyhow!("turn: {turn:?} is too short (accepted: {least} ms or more)");
            return Err(wrong.into());
        }
        let runtime = Handle::try_current()
            .ok()
            .context("start() has to be called inside of a tokio runtime")?;
        let file = self.describe(&runtime, variants, time);
        let dir = free_folder(&self.dir);
        fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        write_json(&dir.join(APPLICATION), &file)?;
        let answered = locked(&process.answered).take().context(
            "start(): budgets of this process take turns already, or the thread that recorded them has panicked",
        )?;
        count_muxer_bytes(process.bytes.load(Ordering::Relaxed) == 0);
        let recorder = &process.recorder;
        let (wake_sender, cotenant) = Cotenant::with_sender(recorder.clock());
        let (stop, stopped) = mpsc::channel();
        let recording = Recording {
            observers: Observers {
                recorder: Arc::clone(recorder),
                requests: answered,
                cotenants: vec![cotenant, Cotenant::on_timers(recorder.clock(), file.seed)],
            },
            wake_sender,
            guard: Guard::new(self.timer_limit, self.check),
            counters: CounterReader::new(runtime, Arc::clone(&process)),
            feed: Feed::new(process.figures.clone(), &file.variants),
            control: env::var_os("NODE_AB_CONTROL").map(PathBuf::from),
            stopped,
            latest: Duration::ZERO,
        };
        let is_length_given = self.turn.is_some();
        let record = move || {
            let (ended, answered) = crate::turns::run(file, recording, is_length_given, &dir);
            *locked(&process.answered) = Some(answered);
            ended
        };
        let thread = thread::Builder::new()
            .name("node-ab".to_owned())
            .spawn(record)
            .context("cannot start a thread")?;
        Ok(Running {
            at_work: Some(AtWork { stop, thread }),
        })
    }

    fn describe(
        &self,
        runtime: &Handle,
        variants: Vec<VariantConfig>,
        time: Duration,
    ) -> ApplicationFile {
        let path = env::current_exe().unwrap_or_default();
        let program = path.file_name().unwrap_or_default();
        let since_epoch = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        ApplicationFile {
            schema: SCHEMA,
            program: program.to_string_lossy().into_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            debug_assertions: cfg!(debug_assertions),
            created_unix_s: unix_s(),
            machine: Machine::this_host(),
            runtime: RuntimeConfig {
                scheduler: match runtime.runtime_flavor() {
                    RuntimeFlavor::CurrentThread => Scheduler::CurrentThread,
                    _ => Scheduler::MultiThread,
                },
                workers: runtime.metrics().num_workers(),
                ..RuntimeConfig::CURRENT_THREAD
            },
            variants,
            turn_ms: ms(self.turn.unwrap_or(PIECE)),
            settle_ms: ms(self.settling),
            limit_ms: ms(time),
            timer_limit_ms: ms(self.timer_limit),
            seed: u64::from(since_epoch.subsec_nanos()) << 20 ^ since_epoch.as_secs(),
        }
    }
}

/// The variants: `none`, the same once more as a control, and the other budgets.
fn variants_to_compare(budgets: &[String]) -> anyhow::Result<Vec<VariantConfig>> {
    let mut all = vec![Budgets::NONE];
    for text in budgets {
        let budgets: Budgets = text.parse().map_err(|wrong: String| anyhow!(wrong))?;
        if budgets.ends == Ends::Both {
            return Err(anyhow!(
                "budget {text:?}: the peers of an application are other programs (accepted: the same budget without @both)"
            ));
        }
        if all[1..].contains(&budgets) {
            return Err(anyhow!("budget {text:?} is named twice"));
        }
        if budgets != Budgets::NONE {
            all.push(budgets);
        }
    }
    if all.len() < 2 {
        return Err(anyhow!(
            "no budget is named that could be compared with none, such as muxer=1/deferred"
        ));
    }
    Ok(VariantConfig::from_budgets(all, true))
}

/// A folder that does not exist yet: `dir`, or `dir` with the first free number.
fn free_folder(dir: &Path) -> PathBuf {
    let numbered = (2..).map(|number: u32| {
        let mut name = dir.file_name().unwrap_or_default().to_owned();
        name.push(format!("-{number}"));
        dir.with_file_name(name)
    });
    let mut candidates = [dir.to_owned()].into_iter().chain(numbered);
    let unused = candidates.find(|candidate| !candidate.exists());
    unused.unwrap_or_else(|| dir.to_owned())
}

/// A running comparison. Budgets take turns until the time is up or this is dropped. After that, `none` is in force.
#[must_use = "dropping it ends the comparison"]
pub struct Running {
    at_work: Option<AtWork>,
}

struct AtWork {
    /// The comparison ends when this is dropped.
    stop: Sender<()>,
    thread: JoinHandle<ApplicationOutcome>,
}

impl Running {
    /// Ends the comparison, unless it has ended before, and returns why it ended. Returns None if `NODE_AB` was off.
    pub fn finish(mut self) -> Result<Option<ApplicationOutcome>, Error> {
        match self.end() {
            Some(ApplicationOutcome::Failed { reason }) => Err(Error(reason)),
            ended => Ok(ended),
        }
    }

    /// Whether budgets still take turns.
    pub fn is_running(&self) -> bool {
        let at_work = self.at_work.as_ref();
        at_work.is_some_and(|at_work| !at_work.thread.is_finished())
    }

    fn end(&mut self) -> Option<ApplicationOutcome> {
        let AtWork { stop, thread } = self.at_work.take()?;
        Variant::default().install();
        drop(stop);
        Some(
            thread
                .join()
                .unwrap_or_else(|_| ApplicationOutcome::Failed {
                    reason: "the recording thread has panicked".to_owned(),
                }),
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(budgets: &[&str]) -> Result<Vec<String>, String> {
        let budgets: Vec<String> = budgets.iter().map(|budget| (*budget).to_owned()).collect();
        let variants = variants_to_compare(&budgets).map_err(|error| error.to_string())?;
        Ok(variants.into_iter().map(|variant| variant.label).collect())
    }

    #[test]
    fn none_is_there_twice_whether_or_not_it_is_named() {
        let all = ["none", "none (A/A)", "task=8"].map(str::to_owned);
        assert_eq!(labels(&["task=8"]), Ok(all.to_vec()));
        assert_eq!(labels(&["none", "task=8"]), Ok(all.to_vec()));
    }

    #[test]
    fn budgets_that_cannot_be_compared_are_named() {
        for (budgets, problem) in [
            (&["none"][..], "no budget"),
            (&["task=8", "task=8"], "\"task=8\" is named twice"),
            (&["swarm=8"], "takes no budget"),
        ] {
            let error = labels(budgets).expect_err("no comparison");
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn no_run_takes_the_place_of_another() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let run = dir.path().join("ab-run");
        for name in ["ab-run", "ab-run-2", "ab-run-3"] {
            let free = free_folder(&run);
            assert_eq!(free, dir.path().join(name));
            fs::create_dir(free).expect("it is free");
        }
    }
}
