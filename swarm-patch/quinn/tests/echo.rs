//! Data that goes to and fro over QUIC under budgets: no byte is lost, the budgets are in force, and the probe counts
//! as many polls of drivers as `tokio_metrics` counts polls of their tasks.
#![allow(clippy::unwrap_used)]

#[path = "../../tests/quic/mod.rs"]
mod quic;

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use poll_probe::{Capacity, Recorder};
use quic::{configs, exchange_under, serve, socket};
use quinn as stack;
use quinn::udp::{RecvMeta, Transmit};
use quinn::{
    AsyncTimer, AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, TokioRuntime, UdpPoller,
};
use run_format::Site;
use tokio_metrics::TaskMonitor;

const BYTES: usize = 20_000;

/// The datagrams that the near side sent.
static SENT: AtomicU64 = AtomicU64::new(0);
/// The most datagrams that it sent in one poll of a task.
static MOST: AtomicU64 = AtomicU64::new(0);

/// Counts polls of tasks, and datagrams.
#[derive(Debug)]
struct Counting(TaskMonitor);

impl Runtime for Counting {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, mut task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        let counted = std::future::poll_fn(move |cx| {
            let before = SENT.load(Relaxed);
            let polled = task.as_mut().poll(cx);
            MOST.fetch_max(SENT.load(Relaxed) - before, Relaxed);
            polled
        });
        tokio::spawn(self.0.instrument(counted));
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Ok(Arc::new(CountingSocket(
            TokioRuntime.wrap_udp_socket(socket)?,
        )))
    }
}

/// A socket that sends one datagram at a time.
#[derive(Debug)]
struct CountingSocket(Arc<dyn AsyncUdpSocket>);

impl AsyncUdpSocket for CountingSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.0).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.0.try_send(transmit)?;
        SENT.fetch_add(1, Relaxed);
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
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
    let mut near = Endpoint::new(EndpointConfig::default(), None, socket(), counting).unwrap();
    near.set_default_client_config(client);
    let (connection, endpoint) = (Site::QuicConnection, Site::QuicEndpoint);
    for (budgets, bounded, most) in [
        ("none", None, 4..=20),
        ("quic-connection=1", Some(connection), 1..=1),
        ("quic-connection=3/deferred", Some(connection), 3..=3),
        ("quic-endpoint=1", Some(endpoint), 4..=20),
        ("quic-endpoint=1ns/deferred", Some(endpoint), 4..=20),
    ] {
        MOST.store(0, Relaxed);
        let under = (budgets, bounded);
        let exchanged = exchange_under(under, &near, far, &recorder, &monitor).await;
        let [counts, calls] = exchanged.counts;
        let path = exchanged.connection.stats().path;
        assert_eq!(
            (counts.packets_sent, counts.packets_lost, counts.rtt_ns),
            (
                path.sent_packets,
                path.lost_packets,
                path.rtt.as_nanos() as u64
            )
        );
        // The endpoint itself answers a late packet of a connection that is gone, and no driver of a connection counts that.
        let sent = SENT.load(Relaxed);
        assert!(
            (sent - 2..=sent).contains(&calls.send_calls),
            "{budgets}: {calls:?}, {sent}"
        );
        let seen = MOST.load(Relaxed);
        println!("{budgets}: at most {seen} datagrams");
        assert!(most.contains(&seen), "{budgets}: {seen}");
        let (polls, children) = (exchanged.polls, exchanged.children);
        // A connection that is closed returns before it polls all six children.
        assert!(children[0] > 5 * polls[0], "{budgets}");
        // These are the lock, drive_recv before a call of the socket, the call, drive_recv after it, and handle_events.
        assert!(children[1] >= 5 * polls[1], "{budgets}");
    }
}
