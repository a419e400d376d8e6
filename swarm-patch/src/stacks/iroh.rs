use super::{Stack, quinn};
use crate::sites::{OwnBound, SiteSpec};

const SITES: [SiteSpec; 2] = quinn::sites("noq", OF_NOQ);

/// What a connection of noq counts, which may have several paths. Its round-trip time is that of the path that has sent
/// most.
const OF_NOQ: &[OwnBound] = &[quinn::bound(
    "Connecting::new",
    "ConnectionDriver(conn.clone())",
    r#"{
            ::poll_probe::watch(&conn.0, |it| {
                let inner = &mut it.state.lock("counts").inner;
                let of = inner.stats();
                let paths = inner.paths().into_iter();
                let paths: Vec<_> = paths.filter_map(|it| inner.path_stats(it)).collect();
                let most = paths.iter().max_by_key(|it| it.udp_tx.datagrams);
                ::poll_probe::QuicCounts {
                    connections: 1,
                    rtt_ns: most.map_or(0, |it| it.rtt.as_nanos() as u64),
                    packets_sent: of.sent_packets,
                    packets_lost: of.lost_packets,
                    congestion_events: paths.iter().map(|it| it.congestion_events).sum(),
                    acks_sent: of.frame_tx.acks + of.frame_tx.path_acks,
                    acks_received: of.frame_rx.acks + of.frame_rx.path_acks,
                    datagrams_sent: of.udp_tx.datagrams,
                    datagrams_received: of.udp_rx.datagrams,
                    ..Default::default()
                }
            });
            {}
        }"#,
)];

/// iroh, whose QUIC is noq, a fork of quinn.
pub const IROH: Stack = Stack {
    name: "iroh",
    packages: &["noq"],
    sites: &SITES,
    options: [
        ("--workload", &["request-response", "stream"]),
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
