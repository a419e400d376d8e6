use super::{Stack, quinn};
use crate::sites::{LoopShape, Rewrite, SiteSpec, StateReading};

const QUIC: [SiteSpec; 2] = quinn::sites("quinn", "try_send", quinn::QUINN_COUNTS);

/// The state of connections and streams. A connection knows its round-trip time, and how much all its receive windows have
/// grown. A stream knows its credit and what is unread. The last two expressions are where the bytes are counted that streams
/// send and receive.
const YAMUX_STATES: &[Rewrite] = &[
    Rewrite::new(
        "Connection::new",
        "Active::new(socket, cfg, mode)",
        "{ let active = ",
        "; let rtt = active.rtt.clone(); ::poll_probe::watch_muxer(&active.accumulated_max_stream_windows, move |grown| \
         ::poll_probe::MuxerCounts { connections: rtt.get().is_some().into(), \
         rtt_ns: rtt.get().map_or(0, |rtt| rtt.as_nanos() as u64), grown_bytes: *grown.lock() as u64, ..Default::default() }); \
         active }",
    ),
    stream("Active::poll_new_outbound"),
    stream("Active::on_data"),
    stream("Active::on_window_update"),
    Rewrite::new(
        "Active::poll",
        "self.socket.start_send_unpin(frame)?",
        "{ if frame.header().tag() == Tag::Data { ::poll_probe::muxer_moved(frame.header().len().val()); } ",
        " }",
    ),
    Rewrite::new(
        "Active::on_frame",
        "frame.into_data()",
        "{ let data = ",
        "; ::poll_probe::muxer_moved(data.header().len().val()); data }",
    ),
];

const fn stream(opened_in: &'static str) -> Rewrite {
    let watch = "; ::poll_probe::watch_muxer(&shared, |shared| { let shared = shared.lock(); \
         ::poll_probe::MuxerCounts { credit_bytes: shared.send_window().into(), unread_bytes: shared.buffer.len() as u64, \
         ..Default::default() } }); shared }";
    Rewrite::new(opened_in, "stream.clone_shared()", "{ let shared = ", watch)
}

const POLL: LoopShape = LoopShape::Poll {
    loop_in: None,
    states: None,
};

/// rust-libp2p with yamux, or over QUIC.
pub const LIBP2P: Stack = Stack {
    name: "libp2p",
    packages: &["libp2p-swarm", "yamux", "quinn"],
    checkout_crates: &["libp2p-swarm"],
    sites: &[
        SiteSpec {
            number: 0,
            name: "connection",
            package: "libp2p-swarm",
            file: "src/connection.rs",
            function: "Connection::poll",
            shape: POLL,
            called: "Connection::poll",
        },
        SiteSpec {
            number: 1,
            name: "swarm",
            package: "libp2p-swarm",
            file: "src/lib.rs",
            function: "Swarm::poll_next_event",
            shape: POLL,
            called: "Swarm::poll_next_event",
        },
        SiteSpec {
            number: 2,
            name: "muxer",
            package: "yamux",
            file: "src/connection.rs",
            function: "Active::poll",
            shape: LoopShape::Poll {
                loop_in: None,
                states: Some(StateReading {
                    only_if_function_exists: "Rtt::get",
                    rewrites: YAMUX_STATES,
                }),
            },
            called: "yamux Active::poll",
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
        },
        QUIC[0],
        QUIC[1],
    ],
};
