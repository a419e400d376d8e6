//! Central sends a block to all peers at once, at a rate, as blocks are propagated. A peer counts what it receives, and
//! acknowledges each block with its counts. A request is a block and its acknowledgement.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use libp2p::{Multiaddr, StreamProtocol};
use node_kit::{RequestLog, locked};
use run_format::{Load, Pace};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, interval_at};

use super::one_stream::{Link, OneStream, split};

/// What central knows of all bursts.
#[derive(Clone)]
pub(crate) struct Burst {
    block_bytes: usize,
    period: Duration,
    peers: usize,
    begins: Instant,
    /// How many peers have the block, by the number of its burst.
    delivered: Arc<Mutex<BTreeMap<u64, usize>>>,
}

impl OneStream for Burst {
    const PROTOCOL: StreamProtocol = StreamProtocol::new("/latency-benchmark/burst/1");

    fn new(load: Load, peers: &[&Multiaddr]) -> Result<Burst> {
        let Pace::PerSecond(rate) = load.pace else {
            bail!("bursts are sent at a rate");
        };
        let period = Duration::from_secs_f64(1.0 / rate);
        Ok(Burst {
            block_bytes: load.payload.len(),
            period,
            peers: peers.len(),
            begins: Instant::now() + period,
            delivered: Arc::default(),
        })
    }

    async fn ask(self, peer: usize, link: Link, log: Arc<Mutex<RequestLog>>) -> Result<Infallible> {
        /// A peer that is slower gets ever later blocks, which measures nothing.
        const MOST_UNDER_WAY: usize = 64;
        let (mut reading, mut writing) = split(link);
        let clock = locked(&log).clock();
        let (sent, mut blocks_sent) = mpsc::channel(MOST_UNDER_WAY);
        let write = async {
            let block = vec![0; self.block_bytes];
            let mut due = self.due();
            loop {
                let at = due.tick().await;
                let late_ns = at.elapsed().as_nanos() as u64;
                let since_ns = clock.now_ns().saturating_sub(late_ns);
                sent.try_send((self.number(at), since_ns)).with_context(|| {
                    format!(
                        "peer {} lacks {MOST_UNDER_WAY} blocks: the rate is more than it can take",
                        peer + 1
                    )
                })?;
                writing.write_all(&block).await?;
                writing.flush().await?;
            }
        };
        let read = async {
            let bytes = self.block_bytes as u64;
            let mut blocks = 0;
            loop {
                blocks += 1;
                let counted = (reading.read_u64().await?, reading.read_u64().await?);
                ensure!(
                    counted == (blocks, blocks * bytes),
                    "peer {} has received {} blocks and {} bytes, but was sent {blocks} blocks of {bytes} bytes",
                    peer + 1,
                    counted.0,
                    counted.1
                );
                let (number, since_ns) = blocks_sent.recv().await.context("nothing was sent")?;
                let is_last = self.is_last(number);
                locked(&log).block_delivered(peer, since_ns, bytes, is_last);
            }
        };
        tokio::select! {
            broken = write => broken,
            broken = read => broken,
        }
    }

    async fn answer(self, link: Link) -> Result<Infallible> {
        let (mut reading, mut writing) = split(link);
        let mut block = vec![0; self.block_bytes];
        let (mut blocks, mut bytes) = (0, 0);
        loop {
            let mut received = 0;
            while received < block.len() {
                let read = reading.read(&mut block[received..]).await?;
                ensure!(read > 0, "central closed the stream");
                received += read;
                bytes += read as u64;
            }
            blocks += 1;
            writing.write_u64(blocks).await?;
            writing.write_u64(bytes).await?;
            writing.flush().await?;
        }
    }
}

impl Burst {
    /// All peers have their turns at the same moments. One that is back after a loss joins the next burst.
    fn due(&self) -> Interval {
        let missed = self.begins.elapsed().div_duration_f64(self.period).ceil();
        let first = self.begins + self.period.mul_f64(missed);
        interval_at(first, self.period)
    }

    fn number(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.begins);
        since.div_duration_f64(self.period).round() as u64
    }

    /// Notes that one more peer has the block of that burst, and says whether it is the last one.
    fn is_last(&self, number: u64) -> bool {
        /// Bursts that a peer has missed never have a last one.
        const MOST_UNFINISHED: usize = 1024;
        let mut delivered = locked(&self.delivered);
        let peers = delivered.entry(number).or_insert(0);
        *peers += 1;
        let is_last = *peers == self.peers;
        if is_last {
            delivered.remove(&number);
        }
        if delivered.len() > MOST_UNFINISHED {
            delivered.pop_first();
        }
        is_last
    }
}
