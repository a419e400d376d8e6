//! QUIC, as quinn or a fork of quinn implements it.

use crate::sites::{InnerChild, LoopShape, NamedExpressions, Rewrite, SiteSpec};

/// The drivers of connections and of sockets in `package`. Each calls functions whose loops have bounds. `send` is the
/// method by which the socket sends, and `counts` reads the counts of a connection.
pub const fn sites(
    package: &'static str,
    send: &'static str,
    counts: &'static [Rewrite],
) -> [SiteSpec; 2] {
    [
        SiteSpec {
            number: 4,
            name: "quic-connection",
            package,
            file: "src/connection.rs",
            function: "ConnectionDriver::poll",
            shape: LoopShape::BoundedInside(NamedExpressions {
                children: &[
                    "lock",
                    "process_conn_events",
                    "drive_transmit",
                    "drive_timer",
                    "forward_endpoint_events",
                    "forward_app_events",
                ],
                inner: InnerChild {
                    caller: "State::drive_transmit",
                    method: send,
                    part_of: Some("drive_transmit"),
                },
                bounds: CONNECTION_BOUNDS,
                counts,
            }),
            called: "ConnectionDriver::poll",
        },
        SiteSpec {
            number: 5,
            name: "quic-endpoint",
            package,
            file: "src/endpoint.rs",
            function: "EndpointDriver::poll",
            shape: LoopShape::BoundedInside(NamedExpressions {
                children: &["lock", "drive_recv", "handle_events"],
                inner: InnerChild {
                    caller: "RecvState::poll_socket",
                    method: "poll_recv",
                    part_of: Some("drive_recv"),
                },
                bounds: ENDPOINT_BOUNDS,
                counts: SOCKET_COUNTS,
            }),
            called: "EndpointDriver::poll",
        },
    ]
}

const CONNECTION_BOUNDS: &[Rewrite] = &[
    wake("ConnectionDriver::poll"),
    transmit(
        "MAX_TRANSMIT_DATAGRAMS",
        "::poll_probe::delegated_bounds::at_most(",
        ")",
    ),
    transmit(
        "MAX_TRANSMIT_SEGMENTS",
        "::poll_probe::delegated_bounds::segments(",
        ")",
    ),
    // This condition is evaluated after every call that has sent.
    transmit(
        "transmits >= MAX_TRANSMIT_DATAGRAMS",
        "::poll_probe::delegated_bounds::reached((::poll_probe::quic::count_send(), ",
        ").1)",
    ),
];

/// The counts of a connection of quinn.
pub const QUINN_COUNTS: &[Rewrite] = &[Rewrite::new(
    "Connecting::new",
    "conn.clone()",
    r#"{
            ::poll_probe::quic::watch_connection(&conn.0, |connection| {
                let stats = connection.state.lock("counts").inner.stats();
                ::poll_probe::QuicCounts {
                    connections: 1,
                    rtt_ns: stats.path.rtt.as_nanos() as u64,
                    packets_sent: stats.path.sent_packets,
                    packets_lost: stats.path.lost_packets,
                    congestion_events: stats.path.congestion_events,
                    acks_sent: stats.frame_tx.acks,
                    acks_received: stats.frame_rx.acks,
                    datagrams_sent: stats.udp_tx.datagrams,
                    datagrams_received: stats.udp_rx.datagrams,
                    ..Default::default()
                }
            });
            "#,
    "\n        }",
)];

/// The counts of a socket that receives.
const SOCKET_COUNTS: &[Rewrite] = &[Rewrite::new(
    "RecvState::poll_socket",
    "self.recv_limiter.record_work(msgs)",
    "(::poll_probe::quic::count_receive(), ",
    ").1",
)];

const ENDPOINT_BOUNDS: &[Rewrite] = &[
    wake("EndpointDriver::poll"),
    Rewrite::new(
        "State::handle_events",
        "IO_LOOP_BOUND",
        "::poll_probe::delegated_bounds::at_most(",
        ")",
    ),
    reached("State::handle_events", "true"),
    // In some polls the limiter measures the time of receiving. In the others it knows how long a message takes.
    Rewrite::new(
        "WorkLimiter::allow_work",
        "self.desired_cycle_time",
        "::poll_probe::delegated_bounds::no_longer_than(",
        ")",
    ),
    Rewrite::new(
        "WorkLimiter::allow_work",
        "self.allowed",
        "::poll_probe::delegated_bounds::in_time(",
        ", self.smoothed_time_per_work_item_nanos)",
    ),
    reached(
        "RecvState::poll_socket",
        "!self.recv_limiter.allow_work(|| runtime.now())",
    ),
];

const fn transmit(expression: &'static str, before: &'static str, after: &'static str) -> Rewrite {
    Rewrite::new("State::drive_transmit", expression, before, after)
}

const fn wake(function: &'static str) -> Rewrite {
    Rewrite::new(
        function,
        "cx.waker().wake_by_ref()",
        "if ::poll_probe::delegated_bounds::wakes_now(cx) { ",
        " }",
    )
}

const fn reached(function: &'static str, condition: &'static str) -> Rewrite {
    Rewrite::new(
        function,
        condition,
        "::poll_probe::delegated_bounds::reached(",
        ")",
    )
}
