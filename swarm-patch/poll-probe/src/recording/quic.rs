//! The counts of QUIC connections and their sockets.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::count_sources::CountSources;
use super::ring;

/// The counts of a connection since it began, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicCounts {
    /// The number of connections.
    pub connections: u64,
    /// The sum of their present smoothed round-trip times.
    pub rtt_ns: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Sent packets that were declared lost.
    pub packets_lost: u64,
    /// How often the congestion window was reduced.
    pub congestion_events: u64,
    /// ACK frames sent.
    pub acks_sent: u64,
    /// ACK frames received.
    pub acks_received: u64,
    /// UDP datagrams sent.
    pub datagrams_sent: u64,
    /// UDP datagrams received.
    pub datagrams_received: u64,
    /// Calls of sockets that sent datagrams.
    pub send_calls: u64,
    /// Calls of sockets that received datagrams.
    pub receive_calls: u64,
}

static CONNECTIONS: CountSources<QuicCounts> = CountSources::new();
static SEND_CALLS: AtomicU64 = AtomicU64::new(0);
static RECEIVE_CALLS: AtomicU64 = AtomicU64::new(0);

/// Watches a new connection if a recorder is attached to this thread. `read` reads the connection's counts.
pub fn watch_connection<T: Any + Send + Sync>(connection: &Arc<T>, read: fn(&T) -> QuicCounts) {
    if ring::is_attached() {
        CONNECTIONS.add(connection, read);
    }
}

/// Counts a call of a socket that sent, on threads that a recorder is attached to.
pub fn count_send() {
    count(&SEND_CALLS);
}

/// Counts a call of a socket that received, on threads that a recorder is attached to.
pub fn count_receive() {
    count(&RECEIVE_CALLS);
}

fn count(calls: &AtomicU64) {
    if ring::is_attached() {
        calls.fetch_add(1, Relaxed);
    }
}

/// The counts of each open connection, and last the calls of all sockets. Empty if there is no connection.
pub fn quic_counts() -> Vec<QuicCounts> {
    let mut counts = CONNECTIONS.counts();
    if !counts.is_empty() {
        counts.push(QuicCounts {
            send_calls: SEND_CALLS.load(Relaxed),
            receive_calls: RECEIVE_CALLS.load(Relaxed),
            ..QuicCounts::default()
        });
    }
    counts
}
