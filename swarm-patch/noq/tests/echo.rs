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
use poll_probe::{Capacity, Mode, Outcome, Recorder, Variant};
use quic::{configs, exchange, own_counts, serve, socket};
use run_format::{Budgets, Site};
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
    const SITES: [Site; 2] = [Site::QuicConnection, Site::QuicEndpoint];
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
        let variant = Variant {
            budgets: budgets.parse::<Budgets>().unwrap().in_central(),
            mode: Mode::Children,
        };
        // Both counts begin and end between two polls, since this is the runtime's one thread.
        let installed = variant.install();
        recorder.drain(|_| {});
        let before = monitor.cumulative().total_poll_count;
        let connection = exchange(&near, far).await;
        let [counts, calls] = own_counts(&connection);
        // A system call sends several datagrams, unless the bound is one.
        let sent = calls.send_calls - std::mem::replace(&mut calls_before, calls.send_calls);
        let is_bounded = budgets.ends_with("x1");
        assert_eq!(sent < counts.datagrams_sent, !is_bounded, "{budgets}");
        let own = connection.stats();
        assert_eq!(
            (counts.packets_sent, counts.packets_lost),
            (own.sent_packets, own.lost_packets)
        );
        let after = monitor.cumulative().total_poll_count;
        let mut counted = SITES.map(|site| (site, 0, 0, 0));
        let drained = recorder.drain(|record| {
            assert_eq!((record.variant, record.iterations), (installed, None));
            let counts = counted.iter_mut().find(|(site, ..)| record.site == *site);
            let (_, polls, yielded, children) = counts.unwrap();
            *polls += 1;
            *yielded += u64::from(record.outcome == Outcome::Yielded);
            *children += record.children.len() as u64;
        });
        println!("{budgets}: polls, yields and children {counted:?}");
        let all_polls = counted.iter().map(|(_, polls, ..)| polls).sum::<u64>();
        assert_eq!(all_polls, after - before, "{budgets}");
        for (site, polls, yielded, children) in counted {
            assert_eq!(drained.lost(site.into()), 0);
            assert_eq!(yielded > 0, bounded == Some(site), "{budgets}: {site}");
            assert!(children > 2 * polls, "{budgets}: {site}");
        }
    }
}
