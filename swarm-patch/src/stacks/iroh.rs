use super::{Stack, quinn};
use crate::sites::{InnerChild, LoopShape, OwnBound, SiteSpec};

const QUIC: [SiteSpec; 2] = quinn::sites("noq", "poll_send");

/// iroh, whose QUIC is noq, a fork of quinn, and iroh-gossip. That handles all messages in one task.
pub const IROH: Stack = Stack {
    name: "iroh",
    packages: &["noq", "iroh-gossip"],
    sites: &[
        QUIC[0],
        QUIC[1],
        SiteSpec {
            site: "GossipActor",
            package: "iroh-gossip",
            file: "src/net.rs",
            owner: Some("Actor"),
            function: "run",
            shape: LoopShape::Future {
                inner: InnerChild {
                    caller: "Actor::handle_in_event_inner",
                    method: "handle",
                    part_of: None,
                },
                iterations: &[OwnBound {
                    function: "Actor::run",
                    expression: "self.event_loop(&mut addr_update_stream, i)",
                    becomes: "(::poll_probe::count(), {}).1",
                }],
            },
            loop_in: None,
            called: "iroh-gossip Actor::run",
            takes_budget: false,
        },
    ],
    options: [
        ("--workload", &["request-response", "stream", "gossipsub"]),
        ("--security", &["tls"]),
        ("--transport", &["quic"]),
    ],
    budgets: &[
        "none",
        "quic-connection=20/deferred",
        "quic-connection=1/deferred",
        "quic-endpoint=10us/deferred",
    ],
    quick_budgets: &["none", "quic-connection=1/deferred"],
};
