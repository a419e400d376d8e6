//! The bytes of an application that does not count them are those that yamux moves.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::{AsyncReadExt, AsyncWriteExt};
use node_ab::{ApplicationOutcome, NodeAb};
use poll_probe::{count_muxer_bytes, muxer_bytes};
use tokio::io::{DuplexStream, duplex};
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};
use yamux::{Config, Connection, Mode, Stream};

use super::Program;

const MESSAGE: usize = 100_000;

#[test]
fn a_node_that_counts_nothing_has_the_bytes_of_yamux() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(compare(&Program::new()));
}

async fn compare(program: &Program) {
    let ab = NodeAb::on_for(Duration::from_secs(4));
    let mut stream = pair().await;
    let setup = ab.budgets(["muxer=1/deferred"]).write_to(program.folder());
    // A machine that also does something else must not end the comparison.
    let running = setup.timer_limit(Duration::from_secs(10)).start().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while running.is_running() {
        assert!(Instant::now() < deadline, "not over within a minute");
        echo(&mut stream).await;
    }
    assert_eq!(running.finish().unwrap(), Some(ApplicationOutcome::TimeUp));
    let slices = program.slices("run-1");
    assert!(!slices.is_empty() && slices.iter().all(|slice| slice.bytes > Some(0)));
    let report = program.report();
    assert!(report.contains("data rate"), "{report}");
    assert!(report.contains("CPU time per MiB"), "{report}");

    // The comparison is over, so nothing is counted.
    assert_eq!(counted(&mut stream).await, 0);
    count_muxer_bytes(true);
    // Each message goes there and back, and each of the two ends counts both.
    assert_eq!(counted(&mut stream).await, 4 * MESSAGE as u64);
    ab.count_bytes(1);
    assert_eq!(counted(&mut stream).await, 0);
}

/// How many bytes are counted while one message is echoed.
async fn counted(stream: &mut Stream) -> u64 {
    let before = muxer_bytes();
    echo(stream).await;
    muxer_bytes() - before
}

async fn echo(stream: &mut Stream) {
    let mut message = vec![7; MESSAGE];
    stream.write_all(&message).await.unwrap();
    stream.read_exact(&mut message).await.unwrap();
}

/// A stream between two connections, the other end of which sends back what it gets.
async fn pair() -> Stream {
    let (asking, answering) = duplex(1 << 16);
    let answering = Connection::new(answering.compat(), Config::default(), Mode::Server);
    tokio::spawn(drive(answering));
    let mut asking = Connection::new(asking.compat(), Config::default(), Mode::Client);
    let stream = poll_fn(|cx| asking.poll_new_outbound(cx)).await.unwrap();
    tokio::spawn(drive(asking));
    stream
}

async fn drive(mut connection: Connection<Compat<DuplexStream>>) {
    poll_fn(|cx| {
        while let Poll::Ready(next) = connection.poll_next_inbound(cx) {
            match next {
                Some(Ok(stream)) => drop(tokio::spawn(answer(stream))),
                _ => return Poll::Ready(()),
            }
        }
        Poll::Pending
    })
    .await;
}

async fn answer(mut stream: Stream) {
    let mut message = vec![0; MESSAGE];
    while stream.read_exact(&mut message).await.is_ok() {
        if stream.write_all(&message).await.is_err() {
            return;
        }
    }
}
