//! Runs a cell for `--gate`: central and its peers in one process, on one thread, until a number of requests is answered. The
//! polls, allocations and wakes of central's tasks are counted, and nothing is timed.

mod counted_task;
mod counting;
#[doc(hidden)]
pub mod fixed;
mod program;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use node_ab::slices::RequestLog;
use run_format::{GateCounts, GateTask};
use tokio::runtime;
use tokio::sync::oneshot;

pub use self::counted_task::TaskCounter;
use self::counting::Counting;
#[doc(hidden)]
pub use self::program::main;

/// The number of bytes that a connection's pipe holds in each direction. That is less than a frame of 16 KiB.
pub const PIPE_BYTES: usize = 8 << 10;

/// Central, its peers and their connections. Each of them ends only with an error.
pub type Nodes = FuturesUnordered<Pin<Box<dyn Future<Output = Result<Infallible>>>>>;

/// Runs a cell with the nodes that `nodes` makes. From the call of `hold_time` on, time stands still. The recorder has
/// compared its clock with the real one before.
pub fn run(
    task: &GateTask,
    hold_time: fn(),
    nodes: impl AsyncFnOnce(TaskCounter, RequestLog) -> Result<Nodes>,
) -> Result<GateCounts> {
    let (done, counted) = oneshot::channel();
    let (counting, log) = Counting::new(task, done)?;
    hold_time();
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut nodes = nodes(TaskCounter(Arc::new(Mutex::new(counting))), log).await?;
        tokio::select! {
            biased;
            Some(Err(error)) = nodes.next() => Err(error),
            counted = counted => counted?,
        }
    })
}
