//! Counts of connections are those of the connections that are there, and began on threads of a recorder.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use poll_probe::quic::{count_receive, count_send, watch_connection};
use poll_probe::{Capacity, QuicCounts, Recorder, quic_counts};

fn read(packets: &AtomicU64) -> QuicCounts {
    QuicCounts {
        connections: 1,
        packets_sent: packets.load(Relaxed),
        ..QuicCounts::default()
    }
}

#[test]
fn connections_that_are_there_are_counted_with_their_calls() {
    let [one, other, elsewhere] = [1, 2, 3].map(|sent| Arc::new(AtomicU64::new(sent)));
    thread::scope(|scope| {
        scope.spawn(|| {
            watch_connection(&elsewhere, read);
            count_send();
        });
    });
    assert_eq!(quic_counts(), []);

    Recorder::new(Capacity::default()).attach();
    watch_connection(&one, read);
    watch_connection(&other, read);
    count_send();
    count_send();
    count_receive();
    one.store(7, Relaxed);
    let packets = || quic_counts().into_iter().map(|counts| counts.packets_sent);
    assert!(packets().eq([7, 2, 0]));
    let calls = quic_counts().pop().expect("there are connections");
    assert_eq!((calls.send_calls, calls.receive_calls), (2, 1));
    drop(one);
    assert!(packets().eq([2, 0]));
    drop(other);
    assert_eq!(quic_counts(), []);
}
