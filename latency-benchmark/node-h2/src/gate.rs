//! Central and its peers for `--gate`.

use anyhow::{Result, ensure};
use node_kit::RequestLog;
use node_kit::gate::{self, Nodes, PIPE_BYTES, TaskCounter};
use run_format::{GateCounts, GateTask, GateTransport, Load, Security, Workload};
use tokio::io::{DuplexStream, duplex};
use tokio::net::UnixStream;

use crate::stream::{ByteStream, CONNECTION_WINDOW};
use crate::{central, peer};

/// Runs a cell with [`gate::run`].
pub fn run(task: &GateTask, hold_time: fn()) -> Result<GateCounts> {
    /// More than both ends send before they wait for each other.
    const ALL: usize = 4 * CONNECTION_WINDOW as usize;
    let cell = &task.cell;
    gate::run(task, hold_time, async |task_counter, log| {
        ensure!(
            (cell.workload, cell.security) == (Workload::RequestResponse, Security::Plaintext),
            "HTTP/2 does not have the cell {cell}"
        );
        Ok(match cell.transport {
            GateTransport::Memory => {
                nodes(in_memory(cell.peers, ALL), cell.load, task_counter, log)
            }
            GateTransport::Pipe => nodes(
                in_memory(cell.peers, PIPE_BYTES),
                cell.load,
                task_counter,
                log,
            ),
            GateTransport::Socket => nodes(sockets(cell.peers)?, cell.load, task_counter, log),
        })
    })
}

/// The ends of connections in memory. Each holds this number of bytes in each direction.
fn in_memory(peers: usize, holds: usize) -> Vec<(DuplexStream, DuplexStream)> {
    (0..peers).map(|_| duplex(holds)).collect()
}

fn sockets(peers: usize) -> Result<Vec<(UnixStream, UnixStream)>> {
    (0..peers).map(|_| Ok(UnixStream::pair()?)).collect()
}

/// Starts the peers and makes central, whose task is counted.
fn nodes<T: ByteStream>(
    connections: Vec<(T, T)>,
    load: Load,
    task_counter: TaskCounter,
    log: RequestLog,
) -> Nodes {
    let (ours, theirs): (Vec<T>, Vec<T>) = connections.into_iter().unzip();
    for stream in theirs {
        // If a peer fails, central's requests fail and report the error.
        tokio::spawn(async move { peer::serve(stream).await.ok() });
    }
    let (nodes, same) = (Nodes::new(), task_counter.clone());
    let central = async move {
        let mut senders = Vec::new();
        for stream in ours {
            senders.push(central::connect(stream, |task| same.spawn(task)).await?);
        }
        central::work(senders, load, log).await
    };
    nodes.push(Box::pin(task_counter.around(Box::pin(central))));
    nodes
}
