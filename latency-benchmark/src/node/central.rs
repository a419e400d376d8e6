//! Central: connects to its peers, works them, and has another thread cut what is seen into slices.

use std::{
    convert::Infallible,
    future::Future,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use anyhow::{Context, Result, anyhow};
use lab::Cores;
use libp2p::{Multiaddr, identity::Keypair};
use poll_probe::{Capacity, Recorder};
use tokio::{runtime, sync::oneshot};
use tokio_metrics::TaskMonitor;

use super::{
    linked::{Linked, OnLoss},
    swarm,
    workload::{Gossipsub, Idle, RequestResponse, Rr, Stream, Workload},
};
use crate::{
    config::{self, Load, NodeConfig, RuntimeConfig},
    evidence::{self, Watch},
    observe::{
        activity::{Activity, Links, SelfWakeCounters},
        cotenant, probe_cost,
        process::{self, Subject, this_thread},
        requests::RequestLog,
        slice::Observers,
    },
};

/// What central is to do, but for the slices.
pub(crate) struct CentralConfig {
    pub(crate) node: NodeConfig,
    pub(crate) load: Load,
    pub(crate) runtime: RuntimeConfig,
    pub(crate) peers: Vec<Multiaddr>,
    pub(crate) on_loss: OnLoss,
    /// Where the threads run that are not central's.
    pub(crate) service_cores: Cores,
    pub(crate) seed: u64,
    /// Central's core, if what happens there is to be looked at. If not, central is what it would be
    /// without anybody to explain it.
    pub(crate) explains_on: Option<usize>,
}

/// Central at work, seen from the thread that measures it.
pub(crate) struct Observed {
    pub(crate) observers: Observers,
    pub(crate) activity: Activity,
    /// What looks at the worker, if something does.
    pub(crate) watch: Option<Watch>,
    pub(crate) tasks: TaskMonitor,
    pub(crate) runtime: runtime::Handle,
    /// The threads that central runs on.
    pub(crate) workers: Vec<Subject>,
    /// What the probe takes for one poll, on central's core.
    pub(crate) probe_ns: f64,
}

/// Connects to every peer and works them, while `measure` runs on a thread of its own. Returns what
/// that returns, or how central failed.
pub(crate) fn run<T: Send + 'static>(
    config: CentralConfig,
    measure: impl FnOnce(Observed) -> Result<T> + Send + 'static,
) -> Result<T> {
    let recorder = Arc::new(match config.explains_on {
        None => Recorder::new(Capacity::default()),
        Some(_) => evidence::recorder(),
    });
    let workers = Arc::new(Mutex::new(Vec::new()));
    let attach = {
        let (recorder, workers) = (Arc::clone(&recorder), Arc::clone(&workers));
        move || {
            recorder.attach();
            workers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(this_thread());
        }
    };
    let runtime = build_runtime(config.runtime, attach)?;
    match config.node.workload {
        #[cfg(feature = "planted")]
        config::Workload::RequestResponse if config.node.plant.is_some() => {
            drive::<super::planted::Planted, T>(config, &runtime, recorder, workers, measure)
        }
        config::Workload::RequestResponse => {
            drive::<RequestResponse, T>(config, &runtime, recorder, workers, measure)
        }
        config::Workload::Stream => {
            drive::<Stream, T>(config, &runtime, recorder, workers, measure)
        }
        config::Workload::Gossipsub => {
            drive::<Gossipsub, T>(config, &runtime, recorder, workers, measure)
        }
        config::Workload::Idle => drive::<Idle, T>(config, &runtime, recorder, workers, measure),
        config::Workload::Rr | config::Workload::RrBesideTcp => {
            drive::<Rr, T>(config, &runtime, recorder, workers, measure)
        }
    }
}

/// `attach` runs on every thread that polls, the calling one included.
pub(super) fn build_runtime(
    config: RuntimeConfig,
    attach: impl Fn() + Send + Sync + 'static,
) -> Result<runtime::Runtime> {
    let mut builder = match config.workers {
        1 => runtime::Builder::new_current_thread(),
        workers => {
            let mut builder = runtime::Builder::new_multi_thread();
            builder.worker_threads(workers);
            builder
        }
    };
    if let Some(interval) = config.event_interval {
        builder.event_interval(interval);
    }
    if let Some(interval) = config.global_queue_interval {
        builder.global_queue_interval(interval);
    }
    attach();
    Ok(builder.on_thread_start(attach).enable_all().build()?)
}

fn drive<W: Workload, T: Send + 'static>(
    config: CentralConfig,
    runtime: &runtime::Runtime,
    recorder: Arc<Recorder>,
    workers: Arc<Mutex<Vec<Subject>>>,
    measure: impl FnOnce(Observed) -> Result<T> + Send + 'static,
) -> Result<T> {
    let handle = runtime.handle().clone();
    let probe_ns = probe_cost::measure(&recorder);
    // This thread is the worker of a runtime that has but one.
    let watch = config.explains_on.map(|core| Watch::arm(&recorder, core));
    runtime.block_on(async move {
        let key = Keypair::generate_ed25519();
        let tasks = TaskMonitor::new();
        let monitor = tasks.clone();
        let self_wakes = watch.is_some().then(SelfWakeCounters::new);
        let watching = self_wakes.clone();
        let spawn = move |task| {
            match &watching {
                Some(watching) => {
                    tokio::spawn(monitor.instrument(watching.tasks.around(task)));
                }
                None => {
                    tokio::spawn(monitor.instrument(task));
                }
            };
        };
        let mut swarm = swarm::build(config.node, &key, W::behaviour(&key)?, spawn)?;
        #[cfg(feature = "planted")]
        W::plant(swarm.behaviour_mut(), config.node.plant);
        let links = Arc::new(Links::default());
        let peers = swarm::connect(&mut swarm, &config.peers, &links).await?;
        let workers = workers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        // Libraries have threads too, for timers above all. Left on central's core they would be what
        // its worker is interrupted by.
        let (_, helpers) = process::other_threads(&workers)?;
        process::move_threads(&helpers, &config.service_cores)
            .context("a library's thread cannot leave central's core")?;
        let (log, requests) = RequestLog::new(Arc::clone(&recorder));
        let cotenants = cotenant::start(&recorder, &config.service_cores, config.seed)?;
        let observed = Observed {
            observers: Observers {
                recorder,
                requests,
                cotenants,
            },
            activity: Activity::new(Arc::clone(&links), self_wakes.clone(), handle.clone()),
            watch,
            tasks,
            runtime: handle,
            workers,
            probe_ns,
        };
        let measured = measure_aside(config.service_cores, || measure(observed))?;
        let swarm = Linked::new(swarm, peers, links, config.on_loss);
        let central = W::central(swarm, config.load, log);
        match self_wakes {
            Some(watching) => {
                until_measured(watching.central.around(Box::pin(central)), measured).await
            }
            None => until_measured(central, measured).await,
        }
    })
}

async fn until_measured<T>(
    central: impl Future<Output = Result<Infallible>>,
    measured: oneshot::Receiver<Result<T>>,
) -> Result<T> {
    tokio::select! {
        failed = central => match failed? {},
        measured = measured => measured.context("the measuring thread panicked")?,
    }
}

pub(super) fn measure_aside<T: Send + 'static>(
    cores: Cores,
    measure: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<oneshot::Receiver<Result<T>>> {
    let (tell, told) = oneshot::channel();
    let (moved, has_moved) = mpsc::channel();
    thread::Builder::new()
        .name("measure".to_owned())
        .spawn(move || {
            let _ = moved.send(crate::observe::process::move_to(&cores));
            let _ = tell.send(measure());
        })?;
    has_moved
        .recv()
        .map_err(|_| anyhow!("the measuring thread did not start"))?
        .context("the measuring thread cannot leave central's core")?;
    Ok(told)
}
