//! The cells in which two programs are compared.

use std::fs;

use program::{Failure, reject};
use run_format::GateTransport::{self, Memory, Pipe, Tcp};
use run_format::{GateCell, Load, NodeConfig, Pace, Payload, Security, Workload};

use crate::args::refuse_others;
use crate::sweep::args::SweepArgs;

/// What a socket's buffers need, so that the counts over TCP with large payloads are the same in every run.
const BUFFER: u64 = 4 << 20;
const LIMITS: [&str; 2] = ["rmem_max", "wmem_max"];

/// Why there are no cells over TCP with large payloads, if there are none.
pub(super) fn too_small_buffers() -> Option<String> {
    let is_enough = |name: &&str| {
        let limit = fs::read_to_string(format!("/proc/sys/net/core/{name}"));
        let limit = limit.ok().and_then(|text| text.trim().parse::<u64>().ok());
        limit.is_some_and(|bytes| bytes >= BUFFER)
    };
    let is_small = !LIMITS.iter().all(is_enough);
    let remedy = LIMITS.map(|name| format!("net.core.{name}={BUFFER}"));
    is_small.then(|| {
        format!(
            "The cells over TCP with 256 KiB and 1 MiB were left out, since sockets cannot have buffers of 4 MiB (sysctl -w {}).",
            remedy.join(" ")
        )
    })
}

/// Over TCP the kernel decides how many requests are read at once, which differs with 16 outstanding.
const LOADS: [(Payload, u32, &[GateTransport]); 4] = [
    (Payload::kib(16), 2, &[Memory, Pipe, Tcp]),
    (Payload::kib(16), 16, &[Memory]),
    (Payload::kib(256), 4, &[Memory, Pipe, Tcp]),
    (Payload::kib(1024), 4, &[Memory, Tcp]),
];

/// Those that have what is asked for, or all.
pub(super) fn cells(args: &SweepArgs) -> Result<Vec<GateCell>, Failure> {
    let (grid, node, stack) = (&args.grid, &args.node, args.program.stack);
    let workload = node.workload.as_ref();
    let asked = node.node(stack)?;
    let mut cells = every_cell();
    let are_small = too_small_buffers().is_some();
    cells.retain(|cell| {
        let of_cell = NodeConfig {
            workload: cell.workload,
            security: cell.security,
            ..asked.clone()
        };
        let needs_buffers = cell.transport == Tcp && cell.load.payload > Payload::kib(16);
        let has_peers = grid.peers.is_empty() || grid.peers.contains(&cell.peers);
        let has_payload = grid.payload.is_empty() || grid.payload.contains(&cell.load.payload);
        refuse_others(stack, &of_cell).is_ok()
            && has_peers
            && has_payload
            && !(needs_buffers && are_small)
            && node.security.is_none_or(|it| it == cell.security)
            && workload.is_none_or(|it| *it == (cell.workload, Vec::new()))
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

/// Requests before counting begins, and while it counts: so many that a whole gate takes less than two minutes on two cores.
pub(super) fn requests(cell: &GateCell) -> (u64, u64) {
    match cell.load.payload.bytes() >> 10 {
        0..=16 => (100, 400),
        17..=256 => (40, 80),
        _ => (20, 20),
    }
}
