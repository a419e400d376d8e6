use super::Stack;
use crate::sites::{LoopShape, SiteSpec};

/// rust-libp2p with yamux.
pub const LIBP2P: Stack = Stack {
    name: "libp2p",
    packages: &["libp2p-swarm", "yamux"],
    sites: &[
        SiteSpec {
            site: "Connection",
            package: "libp2p-swarm",
            file: "src/connection.rs",
            owner: Some("Connection"),
            function: "poll",
            shape: LoopShape::Poll,
            loop_in: None,
            called: "Connection::poll",
            takes_budget: true,
        },
        SiteSpec {
            site: "Swarm",
            package: "libp2p-swarm",
            file: "src/lib.rs",
            owner: Some("Swarm"),
            function: "poll_next_event",
            shape: LoopShape::Poll,
            loop_in: None,
            called: "Swarm::poll_next_event",
            takes_budget: false,
        },
        SiteSpec {
            site: "Muxer",
            package: "yamux",
            file: "src/connection.rs",
            owner: Some("Active"),
            function: "poll",
            shape: LoopShape::Poll,
            loop_in: None,
            called: "yamux Active::poll",
            takes_budget: true,
        },
        SiteSpec {
            site: "Task",
            package: "libp2p-swarm",
            file: "src/connection/pool/task.rs",
            owner: None,
            function: "new_for_established_connection",
            shape: LoopShape::Task {
                spawned_in: ("Pool", "spawn_connection"),
            },
            loop_in: None,
            called: "a connection task's poll",
            takes_budget: true,
        },
    ],
    options: [
        (
            "--workload",
            &["request-response", "stream", "gossipsub", "idle", "rr"],
        ),
        ("--security", &["noise", "tls", "plaintext"]),
        ("--transport", &["tcp", "quic"]),
    ],
    // The original proposal, the open pull request, and the budgets that help a co-tenant.
    budgets: &[
        "none",
        "connection=8",
        "connection=128",
        "muxer=2",
        "muxer=1/deferred",
    ],
    quick_budgets: &["none", "connection=8", "muxer=1/deferred"],
};
