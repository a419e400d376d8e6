use super::{Stack, quinn};
use crate::sites::{LoopShape, SiteSpec};

const QUIC: [SiteSpec; 2] = quinn::sites("quinn", "try_send", quinn::OF_QUINN);

/// rust-libp2p with yamux, or over QUIC.
pub const LIBP2P: Stack = Stack {
    name: "libp2p",
    packages: &["libp2p-swarm", "yamux", "quinn"],
    subjects: &["libp2p-swarm"],
    sites: &[
        SiteSpec {
            number: 0,
            name: "connection",
            package: "libp2p-swarm",
            file: "src/connection.rs",
            function: "Connection::poll",
            shape: LoopShape::Poll { loop_in: None },
            called: "Connection::poll",
            takes_budget: true,
        },
        SiteSpec {
            number: 1,
            name: "swarm",
            package: "libp2p-swarm",
            file: "src/lib.rs",
            function: "Swarm::poll_next_event",
            shape: LoopShape::Poll { loop_in: None },
            called: "Swarm::poll_next_event",
            takes_budget: false,
        },
        SiteSpec {
            number: 2,
            name: "muxer",
            package: "yamux",
            file: "src/connection.rs",
            function: "Active::poll",
            shape: LoopShape::Poll { loop_in: None },
            called: "yamux Active::poll",
            takes_budget: true,
        },
        SiteSpec {
            number: 3,
            name: "task",
            package: "libp2p-swarm",
            file: "src/connection/pool/task.rs",
            function: "new_for_established_connection",
            shape: LoopShape::Task {
                spawned_in: "Pool::spawn_connection",
            },
            called: "a connection task's poll",
            takes_budget: true,
        },
        QUIC[0],
        QUIC[1],
    ],
    options: [
        (
            "--workload",
            &[
                "request-response",
                "stream",
                "gossipsub",
                "idle",
                "rr",
                "burst",
                "duplex",
                "handshakes",
            ],
        ),
        ("--security", &["noise", "tls", "plaintext"]),
        ("--transport", &["tcp", "quic"]),
    ],
    // The original proposal, the open pull request, and the budgets that help a co-tenant. For QUIC, quinn's own bound
    // with another wake, a smaller one, and less time for receiving.
    budgets: &[
        "none",
        "connection=8",
        "connection=128",
        "muxer=2",
        "muxer=1/deferred",
        "quic-connection=20/deferred",
        "quic-connection=1/deferred",
        "quic-endpoint=10us/deferred",
    ],
    quick_budgets: &[
        "none",
        "connection=8",
        "muxer=1/deferred",
        "quic-connection=1/deferred",
    ],
};
