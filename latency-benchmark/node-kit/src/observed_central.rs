//! Central as the measuring thread sees it.

use std::sync::Arc;

use anyhow::Result;
use node_ab::slices::{Observers, RunWriter, SharedWithWorkload};
use run_format::{CentralTask, NamedSite, Pace};
use tokio_metrics::TaskMonitor;

use crate::explain::Instruments;
use crate::load::paths::PathSwitch;
use crate::observe::activity::Activity;
use crate::observe::process::Observee;
use crate::process::shared_page::SharedPage;

/// Central at work, for the thread that measures it.
pub(crate) struct ObservedCentral {
    pub(crate) task: CentralTask,
    pub(crate) observers: Observers,
    pub(crate) activity: Activity,
    /// Present if the run explains.
    pub(crate) instruments: Option<Instruments>,
    pub(crate) tasks: TaskMonitor,
    /// The threads of central's runtime, once it is connected.
    pub(crate) workers: Vec<Observee>,
    pub(crate) sites: Vec<NamedSite>,
    pub(crate) shared: Arc<SharedWithWorkload>,
    /// Tells peers on this machine which variant is in force.
    pub(crate) page: Option<SharedPage>,
    /// Present if requests take two paths, which take turns.
    pub(crate) path_switch: Option<PathSwitch>,
}

impl ObservedCentral {
    /// Whether the workload still looks for the number of requests that are enough.
    pub(crate) fn seeks_outstanding(&self) -> bool {
        let is_sought = self.task.config.load.pace == Pace::Saturating;
        is_sought && self.shared.outstanding().is_none()
    }

    /// Creates the files for the slices.
    pub(crate) fn writer(&self) -> Result<RunWriter> {
        // The first thread is the main thread. Threads after the workers are for blocking work.
        let threads = match self.task.config.runtime.workers {
            ..=1 => &self.workers[..0],
            workers => &self.workers[..self.workers.len().min(workers + 1)],
        };
        RunWriter::create(
            &self.task.dir,
            self.sites.iter().map(|named| named.site).collect(),
            threads.iter().map(|thread| thread.cores()).collect(),
        )
    }
}
