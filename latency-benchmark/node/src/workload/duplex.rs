//! Both ends send chunks over one stream as fast as flow control lets them. A chunk has its number and the number of bytes
//! that its sender has received. A chunk of central counts as a request. Its answer is the first chunk of the peer which says
//! that the peer has received it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use libp2p::Multiaddr;
use node_kit::{Delivery, RequestLog, SharedWithWorkload, locked};
use poll_probe::{MuxerCounts, muxer_counts};
use run_format::{NodeMessage, Sizes, Stall, StreamEnd};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::swarm;

/// The id of a stream to a peer: the number of its part, and its number among the streams of that part.
pub(super) type StreamId = [u8; 2];

/// The progress of a peer in each of its streams.
pub(super) type Served = Arc<Mutex<HashMap<StreamId, Arc<Progress>>>>;

/// Sends and receives chunks at central, until the stream breaks or stalls.
pub(super) async fn exchange_chunks(
    sizes: &Sizes,
    peer: usize,
    (id, at): (StreamId, &Multiaddr),
    (reading, writing): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    log: &Mutex<RequestLog>,
) -> Result<Infallible> {
    let clock = locked(log).clock();
    let progress = Progress::new(locked(log).shared());
    let (sent, mut sent_since) = mpsc::unbounded_channel();
    let write = write_chunks(writing, &progress, sizes, || {
        // The reading side is in the same task.
        let _ = sent.send(clock.now_ns());
    });
    let (mut received_chunks, mut bytes) = (0, 0);
    // The chunks and bytes that the peer has received, as it says.
    let (mut answered, mut answered_bytes) = (0, 0);
    let read = read_chunks(reading, &progress, sizes, |received| {
        let all = progress.sent.bytes();
        ensure!(
            received <= all,
            "the peer has received {received} of {all} bytes"
        );
        bytes += u64::from(sizes.nth(received_chunks).bytes());
        received_chunks += 1;
        loop {
            let chunk_bytes = u64::from(sizes.nth(answered).bytes());
            if answered_bytes + chunk_bytes > received {
                return Ok(());
            }
            answered += 1;
            answered_bytes += chunk_bytes;
            let since_ns = sent_since
                .try_recv()
                .context("the peer acknowledged a chunk that was not sent")?;
            let bytes = chunk_bytes + std::mem::take(&mut bytes);
            locked(log).delivered(Delivery {
                peer,
                since_ns,
                bytes,
                expected: 1,
                is_last: false,
            });
        }
    });
    tokio::select! {
        broken = write => broken,
        broken = read => broken,
        () = stalled(&progress, LOOK) => {
            let stall = Stall {
                variant: progress.variant.load(Ordering::Relaxed),
                peer: peer + 1,
                after_ms: progress.sent.at_ms().max(progress.received.at_ms()),
                central: progress.end(),
                other: peer_end(swarm::raw_tcp_address(at).ok(), id).await,
            };
            node_kit::report(&NodeMessage::Stalled(stall));
            bail!("{stall}")
        }
    }
}

/// Sends and receives chunks at a peer, until the stream breaks.
pub(super) async fn answer_chunks(
    sizes: &Sizes,
    id: StreamId,
    (reading, writing): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    served: &Served,
) -> Result<Infallible> {
    let progress = Arc::new(Progress::new(Arc::default()));
    locked(served).insert(id, Arc::clone(&progress));
    tokio::select! {
        broken = write_chunks(writing, &progress, sizes, || ()) => broken,
        broken = read_chunks(reading, &progress, sizes, |_| Ok(())) => broken,
    }
}

/// Answers at a peer, over a TCP socket of its own, how far each stream is. If streams stall, central asks here. Of peers that
/// share an IP address, only the first can do so.
pub(super) async fn serve_beside(listen: &Multiaddr, served: &Served) -> Result<()> {
    let Ok(listener) = TcpListener::bind(swarm::raw_tcp_address(listen)?).await else {
        return Ok(());
    };
    let served = Arc::clone(served);
    tokio::spawn(async move {
        loop {
            let Ok((mut socket, _)) = listener.accept().await else {
                continue;
            };
            let mut id = StreamId::default();
            if socket.read_exact(&mut id).await.is_ok() {
                let end = locked(&served).get(&id).map(|progress| progress.end());
                let json = serde_json::to_vec(&end).expect("it is plain data");
                let _ = socket.write_all(&json).await;
            }
        }
    });
    Ok(())
}

/// Asks a peer how far its end of a stream is. Returns None if it does not answer.
async fn peer_end(at: Option<SocketAddr>, id: StreamId) -> Option<StreamEnd> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let asked = async {
        let mut text = Vec::new();
        let mut socket = TcpStream::connect(at?).await.ok()?;
        socket.write_all(&id).await.ok()?;
        socket.read_to_end(&mut text).await.ok()?;
        serde_json::from_slice(&text).ok()?
    };
    timeout(PATIENCE, asked).await.ok()?
}

/// The progress of one end of a stream.
pub(super) struct Progress {
    began: Instant,
    sent: Moved,
    received: Moved,
    /// The number of bytes of the present chunk that the stream has not taken yet.
    unsent: AtomicUsize,
    /// The variant that was in force when the last byte moved.
    variant: AtomicUsize,
    shared: Arc<SharedWithWorkload>,
}

#[derive(Default)]
struct Moved {
    bytes: AtomicU64,
    at_ms: AtomicU64,
}

impl Moved {
    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn at_ms(&self) -> u64 {
        self.at_ms.load(Ordering::Relaxed)
    }
}

impl Progress {
    fn new(shared: Arc<SharedWithWorkload>) -> Progress {
        Progress {
            began: Instant::now(),
            sent: Moved::default(),
            received: Moved::default(),
            unsent: AtomicUsize::new(0),
            variant: AtomicUsize::new(shared.variant()),
            shared,
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn note(&self, direction: &Moved, bytes: usize) {
        direction.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        direction.at_ms.store(self.now_ms(), Ordering::Relaxed);
        let variant = self.shared.variant();
        self.variant.store(variant, Ordering::Relaxed);
    }

    fn end(&self) -> StreamEnd {
        let (now_ms, muxers) = (self.now_ms(), muxer_counts());
        let sum = |count: fn(&MuxerCounts) -> u64| {
            (!muxers.is_empty()).then(|| muxers.iter().map(count).sum())
        };
        StreamEnd {
            sent_bytes: self.sent.bytes(),
            received_bytes: self.received.bytes(),
            unsent_bytes: self.unsent.load(Ordering::Relaxed) as u64,
            sent_nothing_ms: now_ms.saturating_sub(self.sent.at_ms()),
            received_nothing_ms: now_ms.saturating_sub(self.received.at_ms()),
            credit_bytes: sum(|muxer| muxer.credit_bytes),
            unread_bytes: sum(|muxer| muxer.unread_bytes),
        }
    }
}

const LOOK: Duration = Duration::from_millis(500);

/// Ends when no byte has moved in one direction for ten looks after the first that saw none. Time in which the process is
/// paused does not count.
async fn stalled(progress: &Progress, look: Duration) {
    const LOOKS: u32 = 11;
    let mut looks = interval(look);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut before, mut quiet) = ([0; 2], [0; 2]);
    while quiet.iter().all(|looks| *looks < LOOKS) {
        looks.tick().await;
        let now = [progress.sent.bytes(), progress.received.bytes()];
        for ((quiet, now), before) in quiet.iter_mut().zip(now).zip(before) {
            *quiet = if now == before { *quiet + 1 } else { 0 };
        }
        before = now;
    }
}

const WORD: usize = 8;

async fn write_chunks(
    mut writing: impl AsyncWrite + Unpin,
    progress: &Progress,
    sizes: &Sizes,
    mut begin: impl FnMut(),
) -> Result<Infallible> {
    let mut chunk = vec![0; sizes.largest().len()];
    let mut number = 0_u64;
    loop {
        let chunk = &mut chunk[..sizes.nth(number).len()];
        number += 1;
        chunk[..WORD].copy_from_slice(&number.to_be_bytes());
        let received = progress.received.bytes().to_be_bytes();
        chunk[WORD..2 * WORD].copy_from_slice(&received);
        begin();
        let mut rest = &*chunk;
        while !rest.is_empty() {
            progress.unsent.store(rest.len(), Ordering::Relaxed);
            let written = writing.write(rest).await?;
            ensure!(written > 0, "the stream takes no more bytes");
            progress.note(&progress.sent, written);
            rest = &rest[written..];
        }
        progress.unsent.store(0, Ordering::Relaxed);
        writing.flush().await?;
    }
}

/// Reads chunks and checks their numbers. `received` gets the number of bytes that the other end has received.
async fn read_chunks(
    mut reading: impl AsyncRead + Unpin,
    progress: &Progress,
    sizes: &Sizes,
    mut received: impl FnMut(u64) -> Result<()>,
) -> Result<Infallible> {
    let mut chunk = vec![0; sizes.largest().len()];
    let mut expected = 0;
    loop {
        let chunk = &mut chunk[..sizes.nth(expected).len()];
        expected += 1;
        let mut filled = 0;
        while filled < chunk.len() {
            let read = reading.read(&mut chunk[filled..]).await?;
            ensure!(read > 0, "the other end closed the stream");
            progress.note(&progress.received, read);
            filled += read;
        }
        let words = chunk.as_chunks::<WORD>().0;
        let number = u64::from_be_bytes(words[0]);
        ensure!(
            number == expected,
            "chunk {number} came in the place of chunk {expected}"
        );
        received(u64::from_be_bytes(words[1]))?;
    }
}

#[cfg(test)]
mod tests {
    use run_format::Payload;
    use tokio::io::duplex;

    use super::*;

    const CHUNK: usize = 64;

    fn sizes() -> Sizes {
        Sizes::one(Payload::of_bytes(CHUNK as u32))
    }

    fn progress() -> Progress {
        Progress::new(Arc::default())
    }

    #[tokio::test]
    async fn a_stream_that_nobody_reads_stalls_and_its_bytes_are_told() {
        let (near, _far) = duplex(3 * CHUNK / 2);
        let (progress, sizes) = (progress(), sizes());
        let (reading, writing) = tokio::io::split(near);
        tokio::select! {
            _ = write_chunks(writing, &progress, &sizes, || ()) => panic!("it cannot go on"),
            _ = read_chunks(reading, &progress, &sizes, |_| Ok(())) => panic!("nothing comes"),
            () = stalled(&progress, Duration::from_millis(1)) => {}
        }
        let end = progress.end();
        assert_eq!((end.sent_bytes, end.unsent_bytes), (96, 32));
        assert_eq!(end.received_bytes, 0);
    }

    #[tokio::test]
    async fn both_ends_receive_all_and_a_chunk_that_is_missing_is_noticed() {
        let (near, far) = duplex(3 * CHUNK / 2);
        let (here, there, sizes) = (progress(), progress(), sizes());
        let ((near_in, near_out), (far_in, far_out)) =
            (tokio::io::split(near), tokio::io::split(far));
        let mut told = 0;
        let enough = |received| {
            told = received;
            ensure!(received < 100 * CHUNK as u64, "enough");
            Ok(())
        };
        let ended = tokio::select! {
            ended = write_chunks(near_out, &here, &sizes, || ()) => ended,
            ended = read_chunks(near_in, &here, &sizes, enough) => ended,
            ended = write_chunks(far_out, &there, &sizes, || ()) => ended,
            ended = read_chunks(far_in, &there, &sizes, |_| Ok(())) => ended,
        };
        assert_eq!(ended.expect_err("it ends").to_string(), "enough");
        assert!(told <= here.sent.bytes() && told <= there.received.bytes());

        let mut second = [0; CHUNK];
        second[WORD - 1] = 2;
        let read = read_chunks(&second[..], &here, &sizes, |_| Ok(()));
        let error = read.await.expect_err("the first one is missing");
        assert_eq!(error.to_string(), "chunk 2 came in the place of chunk 1");
    }
}
