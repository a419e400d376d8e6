//! The cells in which two programs are compared.

use program::{Failure, reject};
use run_format::config::{Load, Pace, Security, Workload};
use run_format::gate::{GateCell, GateTransport};
use run_format::payload::Payload;

use crate::sweep::args::SweepArgs;

/// A cell, and how it is counted.
pub(super) struct PlannedCell {
    pub(super) cell: GateCell,
    pub(super) warm_up: u64,
    pub(super) requests: u64,
    /// While callgrind counts instructions, where it does. It takes fifty times as long.
    pub(super) instructions_of: Option<u64>,
}

/// Over TCP the kernel decides how many requests are read at once, which differs with 16 outstanding.
const LOADS: [(Payload, u32, &[GateTransport]); 4] = [
    (Payload::kib(16), 2, &BOTH),
    (Payload::kib(16), 16, &[GateTransport::Memory]),
    (Payload::kib(256), 4, &BOTH),
    (Payload::kib(1024), 4, &BOTH),
];
const BOTH: [GateTransport; 2] = [GateTransport::Memory, GateTransport::Tcp];

/// Those that have what is asked for, or all.
pub(super) fn cells(args: &SweepArgs) -> Result<Vec<PlannedCell>, Failure> {
    let (grid, security) = (&args.grid, args.node.security);
    let mut cells = every_cell();
    cells.retain(|PlannedCell { cell, .. }| {
        let has_peers = grid.peers.is_empty() || grid.peers.contains(&cell.peers);
        let has_payload = grid.payload.is_empty() || grid.payload.contains(&cell.load.payload);
        has_peers && has_payload && security.is_none_or(|it| it == cell.security)
    });
    if cells.is_empty() {
        reject!(
            "--gate: no cell has these --peers, --payload and --security (accepted: 1,5; 16KiB,256KiB,1MiB; noise or plaintext)"
        );
    }
    Ok(cells)
}

fn every_cell() -> Vec<PlannedCell> {
    let mut cells = Vec::new();
    for (payload, outstanding, transports) in LOADS {
        let pace = Pace::Outstanding(outstanding);
        for workload in [Workload::RequestResponse, Workload::Stream] {
            for transport in transports {
                for security in [Security::Plaintext, Security::Noise] {
                    for peers in [1, 5] {
                        cells.push(plan(GateCell {
                            transport: *transport,
                            security,
                            workload,
                            peers,
                            load: Load { payload, pace },
                        }));
                    }
                }
            }
        }
    }
    cells
}

/// So many requests that a whole gate takes less than two minutes on two cores.
fn plan(cell: GateCell) -> PlannedCell {
    let (warm_up, requests) = match cell.load.payload.bytes() >> 10 {
        0..=16 => (100, 400),
        17..=256 => (40, 80),
        _ => (20, 20),
    };
    PlannedCell {
        cell,
        warm_up,
        requests,
        instructions_of: (cell.peers == 1 && cell.security == Security::Plaintext)
            .then_some(requests / 4),
    }
}
