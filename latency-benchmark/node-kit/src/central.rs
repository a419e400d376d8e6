//! Central's runtime, and everything that observes it. It is the same for every network stack.

use std::convert::Infallible;
use std::process::exit;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::future::Either;
use node_ab::slices::cotenant::WakeReceiver;
use node_ab::slices::{Observers, RequestLog};
use poll_probe::{Capacity, Recorder, locked};
use program::{eprint_line, one_line};
use run_format::{
    CentralTask, Cores, Measured, Measurement, NamedSite, NodeMessage, RunConfig, RuntimeConfig,
    Scheduler,
};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio_metrics::TaskMonitor;

use crate::explain::{Instruments, recorder};
use crate::load::crowd;
use crate::load::paths::{PathSwitch, PathUser};
use crate::measure::measure;
use crate::observe::activity::{Activity, ConnectionCounts, SelfWakeCounters};
use crate::observe::cotenant;
use crate::observe::probe_cost;
use crate::observe::process::{Observee, this_thread};
use crate::observe::same_worker::SameWorker;
use crate::observe::threads::{move_threads, other_threads, spawn_on};
use crate::observed_central::ObservedCentral;
use crate::process::parent::report;
use crate::process::shared_page::SharedPage;
use crate::tasks::stack_task::StackTask;

/// Room for the requests of some seconds of the busiest central.
const MOST_REQUESTS: usize = 1 << 17;

/// Central before it is connected.
pub struct Central {
    runtime: runtime::Runtime,
    /// The lines that the parent writes to standard input.
    lines: Receiver<&'static str>,
    threads: Arc<Mutex<Vec<Observee>>>,
    /// Present with several workers.
    same_worker: Option<(Arc<SameWorker>, WakeReceiver)>,
    probe_ns: Option<f64>,
    path_user: Option<PathUser>,
    log: RequestLog,
    state: ObservedCentral,
}

impl Central {
    /// Makes central as the task describes it. Its sites are those of `sites` that its transport and workload have. If
    /// requests take two paths, nothing is recorded, and there are no sites. `instruments` and the self-wake counters exist
    /// only if the run explains.
    pub(crate) fn new(
        task: CentralTask,
        lines: Receiver<&'static str>,
        mut sites: Vec<NamedSite>,
    ) -> Result<Central> {
        let explains = matches!(task.config.measurement, Measurement::Explain(_));
        let records = task.config.measurement != Measurement::Libp2pAndRawTcp;
        let (path_switch, path_user) = (!records).then(PathSwitch::new).unzip();
        sites.retain(|named| records && task.config.node.has_site(named.site));
        let recorder = Arc::new(match explains {
            true => recorder(),
            false => Recorder::new(Capacity::default()),
        });
        let threads = Arc::new(Mutex::new(Vec::new()));
        let attach = {
            let (recorder, threads) = (Arc::clone(&recorder), Arc::clone(&threads));
            move || {
                // The place among the threads is the thread's number in the recorder.
                let mut threads = locked(&threads);
                if records {
                    recorder.attach();
                }
                threads.push(this_thread());
            }
        };
        let runtime = build_runtime(task.config.runtime, attach)?;
        pin_workers(&threads, &task.config)?;
        let same_worker =
            (task.config.runtime.workers > 1).then(|| SameWorker::new(recorder.clock()));
        let probe_ns = records.then(|| probe_cost::measure(&recorder));
        let (log, requests) = RequestLog::new(recorder.clock(), MOST_REQUESTS);
        let state = ObservedCentral {
            activity: Activity {
                connections: Arc::default(),
                self_wakes: explains.then(SelfWakeCounters::default),
                runtime: runtime.handle().clone(),
            },
            // `Instruments::arm` watches the calling thread, which is the worker of a runtime with a single thread.
            instruments: explains.then(|| Instruments::arm(&recorder.clock())),
            observers: Observers {
                recorder,
                requests,
                cotenants: Vec::new(),
            },
            tasks: TaskMonitor::new(),
            workers: Vec::new(),
            shared: log.shared(),
            sites,
            path_switch,
            page: task.page.map(SharedPage::map).transpose()?,
            task,
        };
        Ok(Central {
            runtime,
            lines,
            threads,
            same_worker,
            probe_ns,
            path_user,
            log,
            state,
        })
    }

    /// The task that the parent gave.
    pub fn task(&self) -> &CentralTask {
        &self.state.task
    }

    /// The counts in which the stack notes connections that open and close.
    pub fn connections(&self) -> Arc<ConnectionCounts> {
        Arc::clone(&self.state.activity.connections)
    }

    /// Tells the stack which path requests take, if there are two.
    pub fn path_user(&self) -> Option<PathUser> {
        self.path_user.clone()
    }

    /// A function that starts a task of the stack and has it observed.
    pub fn spawner(&self) -> impl Fn(StackTask) + Send + Clone + 'static {
        let monitor = (self.path_user.is_none()).then(|| self.state.tasks.clone());
        let self_wakes = self.state.activity.self_wakes.clone();
        let same_worker = self
            .same_worker
            .as_ref()
            .map(|(waker, _)| Arc::clone(waker));
        move |mut task| {
            let Some(monitor) = &monitor else {
                tokio::spawn(task);
                return;
            };
            if let Some(same_worker) = &same_worker {
                task = same_worker.around(task);
            }
            match &self_wakes {
                Some(watching) => tokio::spawn(monitor.instrument(watching.tasks.around(task))),
                None => tokio::spawn(monitor.instrument(task)),
            };
        }
    }

    /// Connects with `connect`, and then sends the load to the peers with the function that it returns, until that fails or
    /// enough is measured.
    pub fn run<C, W>(self, connect: C) -> Result<Measured>
    where
        C: AsyncFnOnce(&CentralTask) -> Result<W>,
        W: AsyncFnOnce(RequestLog) -> Result<Infallible>,
    {
        let mut central = self.state;
        let service_cores = central.task.config.lab.placement.peers.clone();
        let crowd = central.task.config.runtime.crowd;
        self.runtime.block_on(async move {
            let work = connect(&central.task).await?;
            central.workers = locked(&self.threads).clone();
            // Threads that libraries have started, mostly for timers, would interrupt central's worker.
            let (_, helpers) = other_threads(&central.workers)?;
            move_threads(&helpers, &service_cores)
                .context("a library's thread cannot leave central's core")?;
            if central.path_switch.is_none() {
                let clock = central.observers.recorder.clock();
                let seed = central.task.config.seed;
                let receiver = self.same_worker.map(|(_, receiver)| receiver);
                central.observers.cotenants =
                    cotenant::start(clock, &service_cores, seed, receiver)?;
            }
            let self_wakes = central.activity.self_wakes.clone();
            let (begin, begun) = oneshot::channel();
            let (sender, ended) = oneshot::channel();
            let (probe_ns, lines) = (self.probe_ns, self.lines);
            let measuring = move || {
                report(&NodeMessage::Connected { probe_ns });
                let outcome = measure(central, lines, begin);
                let error = outcome.as_ref().err().map(|error| format!("{error:#}"));
                let _ = sender.send(outcome);
                if let Some(error) = error {
                    end_unless_ended(&error);
                }
            };
            spawn_on(&service_cores, "measure", measuring)
                .context("the measuring thread cannot leave central's core")?;
            // If measuring has failed already, `ended` has the error.
            let _ = begun.await;
            if let Some(crowd) = crowd {
                crowd::start(crowd);
            }
            let working = Box::pin(work(self.log));
            let observed_work = match self_wakes {
                Some(watching) => Either::Left(watching.central.around(working)),
                None => Either::Right(working),
            };
            tokio::select! {
                failed = observed_work => match failed? {},
                outcome = ended => outcome.context("the measuring thread panicked")?,
            }
        })
    }
}

/// Ends the process with an error if it still runs after a second. A worker that never returns from a poll cannot report it.
fn end_unless_ended(error: &str) {
    const PATIENCE: Duration = Duration::from_secs(1);
    thread::sleep(PATIENCE);
    eprint_line(format!("error: {}", one_line(error)));
    exit(1);
}

/// Builds the runtime. Each of its threads, including the calling one, runs `attach` first.
fn build_runtime(
    config: RuntimeConfig,
    attach: impl Fn() + Send + Sync + 'static,
) -> Result<runtime::Runtime> {
    let mut builder = match config.scheduler {
        Scheduler::CurrentThread => runtime::Builder::new_current_thread(),
        Scheduler::MultiThread => {
            let mut builder = runtime::Builder::new_multi_thread();
            builder.worker_threads(config.workers);
            builder
        }
    };
    if let Some(interval) = config.event_interval {
        builder.event_interval(interval);
    }
    if let Some(interval) = config.global_queue_interval {
        builder.global_queue_interval(interval);
    }
    #[cfg(tokio_unstable)]
    {
        if config.lifo_slot_off {
            builder.disable_lifo_slot();
        }
        if config.eager_driver_handoff {
            builder.enable_eager_driver_handoff();
        }
        if config.alt_timer {
            builder.enable_alt_timer();
        }
    }
    attach();
    Ok(builder.on_thread_start(attach).enable_all().build()?)
}

/// Waits for the workers of a multi-thread runtime and gives each a core. If there are fewer cores than workers, workers share
/// them. The main thread, which polls the swarm, may use all of these cores.
fn pin_workers(threads: &Mutex<Vec<Observee>>, config: &RunConfig) -> Result<()> {
    let Some(cores) = &config.lab.placement.workers else {
        return Ok(());
    };
    let workers = config.runtime.workers;
    while locked(threads).len() <= workers {
        thread::sleep(Duration::from_millis(1));
    }
    let started = locked(threads).clone();
    for (worker, core) in started[1..=workers].iter().zip(cores.iter().cycle()) {
        let moved = move_threads(&[*worker], &Cores::one(core));
        moved.with_context(|| format!("a worker cannot have core {core}"))?;
    }
    Ok(())
}
