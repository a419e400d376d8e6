//! Both ends send chunks over one stream as fast as flow control lets them. A chunk has its number and how many bytes its
//! sender has received. A request is a chunk of central and the first chunk of the peer that says it was received.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use libp2p::{Multiaddr, StreamProtocol};
use node_kit::{Findings, RequestLog, locked};
use run_format::{Load, SMALLEST_MESSAGE, Stall, StreamEnd};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::one_stream::{Link, OneStream, split};
use crate::beside::address;

#[derive(Clone)]
pub(crate) struct Duplex {
    chunk_bytes: usize,
    /// Where peers say how far they are, by another path than the one that may stall.
    peers: Vec<Option<SocketAddr>>,
    /// Of a peer's newest stream.
    served: Arc<Mutex<Option<Arc<Progress>>>>,
}

impl OneStream for Duplex {
    const PROTOCOL: StreamProtocol = StreamProtocol::new("/latency-benchmark/duplex/1");

    fn new(load: Load, peers: &[&Multiaddr]) -> Result<Duplex> {
        ensure!(
            load.payload.bytes() >= SMALLEST_MESSAGE,
            "a chunk has at least {SMALLEST_MESSAGE} bytes"
        );
        Ok(Duplex {
            chunk_bytes: load.payload.len(),
            peers: peers.iter().map(|at| address(at).ok()).collect(),
            served: Arc::default(),
        })
    }

    async fn ask(self, peer: usize, link: Link, log: Arc<Mutex<RequestLog>>) -> Result<Infallible> {
        let (reading, writing) = split(link);
        let clock = locked(&log).clock();
        let progress = Progress::new(locked(&log).findings());
        let (sent, mut sent_since) = mpsc::unbounded_channel();
        let write = write_chunks(writing, &progress, self.chunk_bytes, || {
            // The reading side is in the same task.
            let _ = sent.send(clock.now_ns());
        });
        let chunk_bytes = self.chunk_bytes as u64;
        let (mut answered, mut bytes) = (0, 0);
        let read = read_chunks(reading, &progress, self.chunk_bytes, |received| {
            let all = progress.sent.bytes();
            ensure!(
                received <= all,
                "the peer has received {received} of {all} bytes"
            );
            bytes += chunk_bytes;
            while (answered + 1) * chunk_bytes <= received {
                answered += 1;
                let since_ns = sent_since.try_recv().context("it was not sent")?;
                let bytes = chunk_bytes + std::mem::take(&mut bytes);
                locked(&log).delivered(peer, since_ns, bytes, 1);
            }
            Ok(())
        });
        tokio::select! {
            broken = write => broken,
            broken = read => broken,
            () = stalled(&progress, LOOK) => {
                let stall = Stall {
                    variant: progress.variant.load(Ordering::Relaxed),
                    peer: peer + 1,
                    after_ms: progress.last_ms(),
                    central: progress.end(),
                    other: peer_end(self.peers.get(peer).copied().flatten()).await,
                };
                node_kit::report_stall(stall);
                bail!("{stall}")
            }
        }
    }

    async fn answer(self, link: Link) -> Result<Infallible> {
        let (reading, writing) = split(link);
        let progress = Arc::new(Progress::new(Arc::default()));
        *locked(&self.served) = Some(Arc::clone(&progress));
        tokio::select! {
            broken = write_chunks(writing, &progress, self.chunk_bytes, || ()) => broken,
            broken = read_chunks(reading, &progress, self.chunk_bytes, |_| Ok(())) => broken,
        }
    }

    /// Says over TCP how far the newest stream is. Peers that share an IP address cannot all do so.
    async fn serve_beside(&self, listen: &Multiaddr) -> Result<()> {
        let Ok(listener) = TcpListener::bind(address(listen)?).await else {
            return Ok(());
        };
        let served = Arc::clone(&self.served);
        tokio::spawn(async move {
            loop {
                let Ok((mut socket, _)) = listener.accept().await else {
                    continue;
                };
                let end = locked(&served).as_ref().map(|progress| progress.end());
                let end = serde_json::to_vec(&end).expect("it is plain data");
                let _ = socket.write_all(&end).await;
            }
        });
        Ok(())
    }
}

/// What a peer says of its end. None if it does not answer.
async fn peer_end(at: Option<SocketAddr>) -> Option<StreamEnd> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let asked = async {
        let mut text = Vec::new();
        let mut socket = TcpStream::connect(at?).await.ok()?;
        socket.read_to_end(&mut text).await.ok()?;
        serde_json::from_slice(&text).ok()?
    };
    timeout(PATIENCE, asked).await.ok()?
}

/// How far one end of a stream is.
struct Progress {
    began: Instant,
    sent: Moved,
    received: Moved,
    /// Of the chunk that is being written, what the stream has not taken.
    unsent: AtomicUsize,
    /// That in force when a byte moved last.
    variant: AtomicUsize,
    findings: Arc<Findings>,
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
    fn new(findings: Arc<Findings>) -> Progress {
        Progress {
            began: Instant::now(),
            sent: Moved::default(),
            received: Moved::default(),
            unsent: AtomicUsize::new(0),
            variant: AtomicUsize::new(findings.variant()),
            findings,
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn note(&self, direction: &Moved, bytes: usize) {
        direction.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        direction.at_ms.store(self.now_ms(), Ordering::Relaxed);
        let variant = self.findings.variant();
        self.variant.store(variant, Ordering::Relaxed);
    }

    fn last_ms(&self) -> u64 {
        self.sent.at_ms().max(self.received.at_ms())
    }

    fn end(&self) -> StreamEnd {
        let now_ms = self.now_ms();
        StreamEnd {
            sent_bytes: self.sent.bytes(),
            received_bytes: self.received.bytes(),
            unsent_bytes: self.unsent.load(Ordering::Relaxed) as u64,
            sent_nothing_ms: now_ms.saturating_sub(self.sent.at_ms()),
            received_nothing_ms: now_ms.saturating_sub(self.received.at_ms()),
        }
    }
}

const LOOK: Duration = Duration::from_millis(500);

/// Ends when no byte has moved in one of the directions from one look to the tenth after it. Time in which the process is paused does not
/// count.
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
    chunk_bytes: usize,
    mut begin: impl FnMut(),
) -> Result<Infallible> {
    let mut chunk = vec![0; chunk_bytes];
    let mut number = 0_u64;
    loop {
        number += 1;
        chunk[..WORD].copy_from_slice(&number.to_be_bytes());
        let received = progress.received.bytes().to_be_bytes();
        chunk[WORD..2 * WORD].copy_from_slice(&received);
        begin();
        let mut rest = &chunk[..];
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

/// Every chunk has to be the next one, and whole. `received` gets how many bytes the other end had received.
async fn read_chunks(
    mut reading: impl AsyncRead + Unpin,
    progress: &Progress,
    chunk_bytes: usize,
    mut received: impl FnMut(u64) -> Result<()>,
) -> Result<Infallible> {
    let mut chunk = vec![0; chunk_bytes];
    let mut expected = 0;
    loop {
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
    use tokio::io::duplex;

    use super::*;

    const CHUNK: usize = 64;

    fn progress() -> Progress {
        Progress::new(Arc::default())
    }

    #[tokio::test]
    async fn a_stream_that_nobody_reads_stalls_and_its_bytes_are_told() {
        let (near, _far) = duplex(3 * CHUNK / 2);
        let progress = progress();
        let (reading, writing) = tokio::io::split(near);
        tokio::select! {
            _ = write_chunks(writing, &progress, CHUNK, || ()) => panic!("it cannot go on"),
            _ = read_chunks(reading, &progress, CHUNK, |_| Ok(())) => panic!("nothing comes"),
            () = stalled(&progress, Duration::from_millis(1)) => {}
        }
        let end = progress.end();
        assert_eq!((end.sent_bytes, end.unsent_bytes), (96, 32));
        assert_eq!(end.received_bytes, 0);
    }

    #[tokio::test]
    async fn both_ends_receive_all_and_a_chunk_that_is_missing_is_noticed() {
        let (near, far) = duplex(3 * CHUNK / 2);
        let (here, there) = (progress(), progress());
        let ((near_in, near_out), (far_in, far_out)) =
            (tokio::io::split(near), tokio::io::split(far));
        let mut told = 0;
        let enough = |received| {
            told = received;
            ensure!(received < 100 * CHUNK as u64, "enough");
            Ok(())
        };
        let ended = tokio::select! {
            ended = write_chunks(near_out, &here, CHUNK, || ()) => ended,
            ended = read_chunks(near_in, &here, CHUNK, enough) => ended,
            ended = write_chunks(far_out, &there, CHUNK, || ()) => ended,
            ended = read_chunks(far_in, &there, CHUNK, |_| Ok(())) => ended,
        };
        assert_eq!(ended.expect_err("it ends").to_string(), "enough");
        assert!(told <= here.sent.bytes() && told <= there.received.bytes());

        let mut second = [0; CHUNK];
        second[WORD - 1] = 2;
        let read = read_chunks(&second[..], &here, CHUNK, |_| Ok(()));
        let error = read.await.expect_err("the first one is missing");
        assert_eq!(error.to_string(), "chunk 2 came in the place of chunk 1");
    }
}
