//! Connections and streams of yamux are watched once that is asked for, and as long as they are there.

use std::sync::Arc;

use poll_probe::{MuxerCounts, muxer_counts, watch_muxer, watch_muxers};

#[test]
fn muxers_are_watched_from_when_that_is_asked_for() {
    let [before, after] = [1, 2].map(Arc::new);
    let read = |bytes: &u64| MuxerCounts {
        unread_bytes: *bytes,
        ..MuxerCounts::default()
    };
    watch_muxer(&before, read);
    watch_muxers();
    watch_muxer(&after, read);
    assert_eq!(muxer_counts(), [read(&2)]);
    drop(after);
    assert_eq!(muxer_counts(), []);
}
