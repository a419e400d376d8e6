//! What measuring gets of central.

use std::sync::Arc;

use anyhow::Result;
use node_ab::slices::{Findings, Observers, RunWriter};
use run_format::{CentralTask, NamedSite, Pace};
use tokio_metrics::TaskMonitor;

use crate::evidence::Watch;
use crate::observe::activity::Activity;
use crate::observe::process::Observee;
use crate::paths::TurnSwitch;
use crate::shared_page::SharedPage;

/// Central at work, seen from the thread that measures it.
pub(crate) struct Connected {
    pub(crate) task: CentralTask,
    pub(crate) observers: Observers,
    pub(crate) activity: Activity,
    /// What looks at the worker, if the run explains.
    pub(crate) watch: Option<Watch>,
    pub(crate) tasks: TaskMonitor,
    /// The threads that central runs on, once it is connected.
    pub(crate) workers: Vec<Observee>,
    pub(crate) sites: Vec<NamedSite>,
    /// What the workload finds out.
    pub(crate) findings: Arc<Findings>,
    /// Tells peers which variant is in force, where they are on this machine.
    pub(crate) page: Option<SharedPage>,
    /// Whose turn it is, where requests take two paths. Nothing else is to cost time there.
    pub(crate) turns: Option<TurnSwitch>,
}

impl Connected {
    /// Whether the workload still looks for the number of requests that are enough.
    pub(crate) fn seeks_outstanding(&self) -> bool {
        let is_sought = self.task.config.load.pace == Pace::Saturating;
        is_sought && self.findings.outstanding().is_none()
    }

    /// What writes its slices.
    pub(crate) fn writer(&self) -> Result<RunWriter> {
        let several = self.task.config.runtime.workers;
        // The first is the main thread. Later ones are for blocking work.
        let threads = self.workers.iter().take(several + 1);
        let threads = threads.filter(|_| several > 1);
        RunWriter::create(
            &self.task.dir,
            self.sites.iter().map(|named| named.site).collect(),
            threads.map(|thread| thread.cores()).collect(),
        )
    }
}
