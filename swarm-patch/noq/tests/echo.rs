//! Data that goes to and fro over QUIC under budgets: no byte is lost, each budget ends polls of its site alone, and the
//! probe counts as many polls of drivers as `tokio_metrics` counts polls of their tasks.
#![allow(clippy::unwrap_used)]

#[path = "../../tests/quic/mod.rs"]
mod quic;

use std::io;
use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use noq as stack;
use noq::{AsyncTimer, AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime};
use poll_probe::{Capacity, Recorder};
use quic::{configs, exchange_under, serve, socket};
use run_format::Site;
use tokio_metrics::TaskMonitor;

const BYTES: usize = 100_000;

/// Counts polls of tasks.
#[derive(Debug)]
struct Counting(TaskMonitor);

impl Runtime for Counting {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        tokio::spawn(self.0.instrument(task));
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        TokioRuntime.wrap_udp_socket(socket)
    }
}

#[tokio::test]
async fn no_byte_is_lost_and_polls_are_those_of_the_tasks() {
    let recorder = Recorder::new(Capacity::default());
    recorder.attach();
    let (server, client) = configs();
    let far = serve(server);

    let monitor = TaskMonitor::new();
    let counting = Arc::new(Counting(monitor.clone()));
    let near = Endpoint::new(EndpointConfig::default(), None, socket(), counting).unwrap();
    near.set_default_client_config(client);
    let mut calls_before = 0;
    for (budgets, bounded) in [
        ("none", None),
        ("quic-connection=1", Some(Site::QuicConnection)),
        ("quic-connection=3/deferred", Some(Site::QuicConnection)),
        ("quic-connection=3x1", Some(Site::QuicConnection)),
        ("quic-endpoint=1", Some(Site::QuicEndpoint)),
        ("quic-endpoint=1ns/deferred", Some(Site::QuicEndpoint)),
    ] {
        let under = (budgets, bounded);
        let exchanged = exchange_under(under, &near, far, &recorder, &monitor).await;
        let [counts, calls] = exchanged.counts;
        // A system call sends several datagrams, unless the bound is one.
        let sent = calls.send_calls - std::mem::replace(&mut calls_before, calls.send_calls);
        let is_bounded = budgets.ends_with("x1");
        assert_eq!(sent < counts.datagrams_sent, !is_bounded, "{budgets}");
        let own = exchanged.connection.stats();
        assert_eq!(
            (counts.packets_sent, counts.packets_lost),
            (own.sent_packets, own.lost_packets)
        );
        for (children, polls) in exchanged.children.into_iter().zip(exchanged.polls) {
            assert!(children > 2 * polls, "{budgets}");
        }
    }
}
