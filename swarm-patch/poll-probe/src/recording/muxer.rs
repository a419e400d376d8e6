//! The state of yamux's connections and streams, for workloads whose streams live long, and the bytes that streams move.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::count_sources::CountSources;

/// The present state of a connection or a stream, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MuxerCounts {
    /// The number of connections that have an estimate of the round-trip time.
    pub connections: u64,
    /// The sum of these estimates.
    pub rtt_ns: u64,
    /// How much the receive windows have grown since the beginning.
    pub grown_bytes: u64,
    /// How much may be sent before the other side grants more.
    pub credit_bytes: u64,
    /// How much was received and waits to be read.
    pub unread_bytes: u64,
}

static WATCHED: CountSources<MuxerCounts> = CountSources::new();
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Watches the connections and streams that are opened from now on.
pub fn watch_muxers() {
    IS_ON.store(true, Relaxed);
}

/// Watches a connection or a stream after [`watch_muxers`] was called. `read` reads its state.
pub fn watch_muxer<T: Any + Send + Sync>(
    muxer: &Arc<T>,
    read: impl Fn(&T) -> MuxerCounts + Send + 'static,
) {
    if IS_ON.load(Relaxed) {
        WATCHED.add(muxer, read);
    }
}

/// The state of each connection and each stream that is watched.
pub fn muxer_counts() -> Vec<MuxerCounts> {
    WATCHED.counts()
}

static COUNTS_BYTES: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Begins or stops to count the bytes that yamux's streams send and receive.
pub fn count_muxer_bytes(is_on: bool) {
    COUNTS_BYTES.store(is_on, Relaxed);
}

/// Counts the body of a data frame that yamux sends or has received, if bytes are to be counted.
#[inline]
pub fn muxer_moved(bytes: u32) {
    if COUNTS_BYTES.load(Relaxed) {
        BYTES.fetch_add(u64::from(bytes), Relaxed);
    }
}

/// The bytes counted since the process began.
pub fn muxer_bytes() -> u64 {
    BYTES.load(Relaxed)
}
