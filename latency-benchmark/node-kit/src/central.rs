//! Central's runtime, and everything around it that observes: the same for every network stack.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use poll_probe::{Capacity, Recorder};
use run_format::{
    config::{Measurement, RunConfig, RuntimeConfig, Scheduler},
    manifest::NamedSite,
    network::Cores,
    protocol::{CentralTask, Measured, NodeMessage},
};
use tokio::{runtime, sync::oneshot};
use tokio_metrics::TaskMonitor;

use crate::{
    connected::Connected,
    evidence::{Watch, recorder},
    measure::measure,
    observe::{
        activity::{Activity, ConnectionCounts, SelfWakeCounters},
        cotenant::{self, WakeReceiver},
        observers::Observers,
        probe_cost,
        process::{self, Observee, this_thread},
        requests::RequestLog,
        same_worker::SameWorker,
    },
    parent::Parent,
    paths::{TurnSwitch, TurnTaker},
    stack_task::{StackTask, locked},
};

/// Central before it is connected: its runtime, and what is around its tasks.
pub struct Central {
    runtime: runtime::Runtime,
    task: CentralTask,
    parent: Parent,
    recorder: Arc<Recorder>,
    workers: Arc<Mutex<Vec<Observee>>>,
    tasks: TaskMonitor,
    self_wakes: Option<SelfWakeCounters>,
    /// With several workers.
    same_worker: Option<(Arc<SameWorker>, WakeReceiver)>,
    watch: Option<Watch>,
    probe_ns: Option<f64>,
    /// Where requests take two paths. Nothing else is to cost time there.
    turns: Option<(TurnSwitch, TurnTaker)>,
    connections: Arc<ConnectionCounts>,
    sites: Vec<NamedSite>,
}

impl Central {
    /// Central as the task asks for it. Of the sites of its stack it has those of its transport and workload, and none
    /// where requests take two paths. If the run does not explain, nothing is there that could.
    pub fn new(task: CentralTask, parent: Parent, mut sites: Vec<NamedSite>) -> Result<Central> {
        let explains = matches!(task.config.measurement, Measurement::Explain(_));
        let turns = (task.config.measurement == Measurement::BesideTcp).then(TurnSwitch::new);
        let records = turns.is_none();
        sites.retain(|it| records && task.config.node.has_site(it.site));
        let recorder = Arc::new(if explains {
            recorder()
        } else {
            Recorder::new(Capacity::default())
        });
        let workers = Arc::new(Mutex::new(Vec::new()));
        let attach = {
            let (recorder, workers) = (Arc::clone(&recorder), Arc::clone(&workers));
            move || {
                // The place among the workers is the thread's number in the recorder.
                let mut workers = locked(&workers);
                if records {
                    recorder.attach();
                }
                workers.push(this_thread());
            }
        };
        let runtime = build_runtime(task.config.runtime, attach)?;
        pin_workers(&workers, &task.config)?;
        let same_worker = (task.config.runtime.workers > 1).then(|| SameWorker::new(&recorder));
        let probe_ns = records.then(|| probe_cost::measure(&recorder));
        // This thread is the worker of a runtime that has but one.
        let watch = explains.then(|| Watch::arm(&recorder, task.config.lab.placement.central));
        Ok(Central {
            runtime,
            parent,
            recorder,
            workers,
            tasks: TaskMonitor::new(),
            self_wakes: explains.then(SelfWakeCounters::new),
            same_worker,
            watch,
            probe_ns,
            connections: Arc::new(ConnectionCounts::default()),
            sites,
            turns,
            task,
        })
    }

    /// What it is to do.
    pub fn task(&self) -> &CentralTask {
        &self.task
    }

    /// Where the stack notes what becomes of connections.
    pub fn connections(&self) -> Arc<ConnectionCounts> {
        Arc::clone(&self.connections)
    }

    /// Takes turns, where requests take two paths.
    pub fn turns(&self) -> Option<TurnTaker> {
        Some(self.turns.as_ref()?.1.clone())
    }

    /// Starts the tasks of the stack, each of them watched.
    pub fn spawner(&self) -> impl Fn(StackTask) + Send + Clone + 'static {
        let (monitor, self_wakes) = (self.tasks.clone(), self.self_wakes.clone());
        let same_worker = self.same_worker.as_ref().map(|(it, _)| Arc::clone(it));
        let is_plain = self.turns.is_some();
        move |task| {
            if is_plain {
                tokio::spawn(task);
                return;
            }
            let task = match &same_worker {
                Some(same_worker) => same_worker.around(task),
                None => task,
            };
            match &self_wakes {
                Some(watching) => {
                    tokio::spawn(monitor.instrument(watching.tasks.around(task)));
                }
                None => {
                    tokio::spawn(monitor.instrument(task));
                }
            };
        }
    }

    /// Connects by `connect`, then works the peers by the future that it returns, until that fails or enough is
    /// measured.
    pub fn run<C, W>(self, connect: C) -> Result<Measured>
    where
        C: AsyncFnOnce(&CentralTask) -> Result<W>,
        W: FnOnce(RequestLog) -> Result<Pin<Box<dyn Future<Output = Result<Infallible>>>>>,
    {
        let Central {
            runtime,
            task,
            parent,
            recorder,
            workers,
            tasks,
            self_wakes,
            same_worker,
            watch,
            probe_ns,
            connections,
            sites,
            turns,
        } = self;
        let handle = runtime.handle().clone();
        let service_cores = task.config.lab.placement.peers.clone();
        runtime.block_on(async move {
            let work = connect(&task).await?;
            let workers = locked(&workers).clone();
            move_helpers(&workers, &service_cores)?;
            let (log, requests) = RequestLog::new(Arc::clone(&recorder));
            let rung = same_worker.map(|(_, rung)| rung);
            let seed = task.config.seed;
            let cotenants = || cotenant::start(&recorder, &service_cores, seed, rung);
            let cotenants = turns.is_none().then(cotenants).transpose()?;
            let connected = Connected {
                observers: Observers {
                    recorder,
                    requests,
                    cotenants,
                },
                activity: Activity::new(connections, self_wakes.clone(), handle.clone()),
                watch,
                tasks,
                runtime: handle,
                workers,
                sites,
                turns: turns.map(|(switch, _)| switch),
            };
            let (begin, begun) = oneshot::channel();
            let measured = measure_aside(service_cores, move || {
                parent.report(&NodeMessage::Connected { probe_ns });
                measure(&task, connected, &parent, begin)
            })?;
            // If measuring has failed by then, that is found below.
            let _ = begun.await;
            let work = work(log)?;
            match self_wakes {
                Some(watching) => until_measured(watching.central.around(work), measured).await,
                None => until_measured(work, measured).await,
            }
        })
    }
}

/// A runtime on whose every thread, the calling one included, `attach` has run.
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
    }
    attach();
    Ok(builder.on_thread_start(attach).enable_all().build()?)
}

/// Waits for the workers of a multi-thread runtime, and gives each its core. If they have fewer cores, they take turns
/// with them. The main thread, which has the swarm, may use all of them.
fn pin_workers(threads: &Mutex<Vec<Observee>>, config: &RunConfig) -> Result<()> {
    let Some(cores) = &config.lab.placement.workers else {
        return Ok(());
    };
    let workers = config.runtime.workers;
    while locked(threads).len() <= workers {
        thread::sleep(Duration::from_millis(1));
    }
    let threads = locked(threads).clone();
    for (worker, core) in threads[1..=workers].iter().zip(cores.iter().cycle()) {
        let moved = process::move_threads(&[*worker], &Cores::one(core));
        moved.with_context(|| format!("a worker cannot have core {core}"))?;
    }
    Ok(())
}

/// Moves the threads that libraries have started, for timers above all, off central's core. There they would
/// interrupt its worker.
fn move_helpers(workers: &[Observee], cores: &Cores) -> Result<()> {
    let (_, helpers) = process::other_threads(workers)?;
    process::move_threads(&helpers, cores).context("a library's thread cannot leave central's core")
}

/// Waits for the end of measuring, or for the failure of what is measured.
async fn until_measured<T>(
    work: impl Future<Output = Result<Infallible>>,
    measured: oneshot::Receiver<Result<T>>,
) -> Result<T> {
    tokio::select! {
        failed = work => match failed? {},
        measured = measured => measured.context("the measuring thread panicked")?,
    }
}

/// Runs `measure` on a thread of its own, on `cores`.
fn measure_aside<T: Send + 'static>(
    cores: Cores,
    measure: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<oneshot::Receiver<Result<T>>> {
    let (sender, receiver) = oneshot::channel();
    let (moved, has_moved) = mpsc::channel();
    thread::Builder::new()
        .name("measure".to_owned())
        .spawn(move || {
            let _ = moved.send(process::move_to(&cores));
            let _ = sender.send(measure());
        })?;
    has_moved
        .recv()
        .map_err(|_| anyhow!("the measuring thread did not start"))?
        .context("the measuring thread cannot leave central's core")?;
    Ok(receiver)
}
