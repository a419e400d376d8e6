use super::{Stack, quinn};
use crate::sites::{InnerChild, LoopShape, NamedExpressions, Rewrite, SiteSpec};

const QUIC: [SiteSpec; 2] = quinn::sites("noq", "poll_send", NOQ_COUNTS);

/// The counts of a connection of noq, which may have several paths. Its round-trip time is that of the path that has sent
/// most.
const NOQ_COUNTS: &[Rewrite] = &[Rewrite::new(
    "Connecting::new",
    "conn.clone()",
    r#"{
            ::poll_probe::quic::watch_connection(&conn.0, |connection| {
                let inner = &mut connection.state.lock("counts").inner;
                let stats = inner.stats();
                let paths = inner.paths().into_iter();
                let paths: Vec<_> = paths.filter_map(|path| inner.path_stats(path)).collect();
                let most = paths.iter().max_by_key(|path| path.udp_tx.datagrams);
                ::poll_probe::QuicCounts {
                    connections: 1,
                    rtt_ns: most.map_or(0, |path| path.rtt.as_nanos() as u64),
                    packets_sent: stats.sent_packets,
                    packets_lost: stats.lost_packets,
                    congestion_events: paths.iter().map(|path| path.congestion_events).sum(),
                    acks_sent: stats.frame_tx.acks + stats.frame_tx.path_acks,
                    acks_received: stats.frame_rx.acks + stats.frame_rx.path_acks,
                    datagrams_sent: stats.udp_tx.datagrams,
                    datagrams_received: stats.udp_rx.datagrams,
                    ..Default::default()
                }
            });
            "#,
    "\n        }",
)];

/// iroh with iroh-gossip, which handles all messages in one task. The QUIC of iroh is noq, a fork of quinn.
pub const IROH: Stack = Stack {
    name: "iroh",
    packages: &["noq", "iroh-gossip"],
    checkout_crates: &["iroh", "noq", "iroh-gossip"],
    sites: &[
        QUIC[0],
        QUIC[1],
        SiteSpec {
            number: 6,
            name: "gossip-actor",
            package: "iroh-gossip",
            file: "src/net.rs",
            function: "Actor::run",
            shape: LoopShape::FutureWithCalls(NamedExpressions {
                children: &[],
                inner: InnerChild {
                    caller: "Actor::handle_in_event_inner",
                    method: "handle",
                    part_of: None,
                },
                bounds: &[],
                counts: &[Rewrite::new(
                    "Actor::run",
                    "self.event_loop(&mut addr_update_stream, i)",
                    "(::poll_probe::count(), ",
                    ").1",
                )],
            }),
            called: "iroh-gossip Actor::run",
        },
    ],
};
