//! The cells in which two programs are compared.

use program::{Failure, reject};
use run_format::GateTransport::{self, Memory, Pipe, Socket};
use run_format::{GateCell, Load, NodeConfig, Pace, Payload, Security, Workload};

use crate::args::refuse_what_is_not_offered;
use crate::sweep::args::SweepArgs;

const LOADS: [(Payload, u32, &[GateTransport]); 4] = [
    (Payload::kib(16), 2, &[Memory, Pipe, Socket]),
    (Payload::kib(16), 16, &[Memory]),
    (Payload::kib(256), 4, &[Memory, Pipe, Socket]),
    (Payload::kib(1024), 4, &[Memory, Socket]),
];

/// The cells that match the options, or all cells.
pub(super) fn cells(args: &SweepArgs) -> Result<Vec<GateCell>, Failure> {
    let (grid, node, stack) = (&args.grid, &args.node, args.program.stack);
    let workload = node.workload.as_ref();
    let asked = node.node(stack)?;
    let mut cells = every_cell();
    cells.retain(|cell| {
        let node_of_cell = NodeConfig {
            workload: cell.workload,
            security: cell.security,
            ..asked.clone()
        };
        let has_peers = grid.peers.is_empty() || grid.peers.contains(&cell.peers);
        let has_payload = grid.payload.is_empty() || grid.payload.contains(&cell.load.payload);
        let has_security = node.security.is_none_or(|asked| asked == cell.security);
        let has_workload = workload.is_none_or(|asked| *asked == cell.workload.into());
        let is_offered = refuse_what_is_not_offered(stack, &node_of_cell).is_ok();
        is_offered && has_peers && has_payload && has_security && has_workload
    });
    if cells.is_empty() {
        reject!(
            "--gate: no cell has this --stack, --peers, --payload, --security and --workload (accepted: libp2p or h2; 1,5; 16KiB,256KiB,1MiB; noise or plaintext; request-response or stream; h2 has plaintext and request-response only)"
        );
    }
    Ok(cells)
}

fn every_cell() -> Vec<GateCell> {
    let mut cells = Vec::new();
    for (payload, outstanding, transports) in LOADS {
        let pace = Pace::Outstanding(outstanding);
        for workload in [Workload::RequestResponse, Workload::Stream] {
            for transport in transports {
                for security in [Security::Plaintext, Security::Noise] {
                    for peers in [1, 5] {
                        cells.push(GateCell {
                            transport: *transport,
                            security,
                            workload,
                            peers,
                            load: Load { payload, pace },
                        });
                    }
                }
            }
        }
    }
    cells
}

/// The number of requests before counting begins, and while it counts. A whole gate takes less than two minutes on two cores.
pub(super) fn requests(cell: &GateCell) -> (u64, u64) {
    match cell.load.payload.bytes() >> 10 {
        0..=16 => (100, 400),
        17..=256 => (40, 80),
        _ => (20, 20),
    }
}
