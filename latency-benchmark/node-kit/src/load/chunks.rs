//! Sends chunks over one long stream to each peer. The peer acknowledges each chunk with its counts of chunks and bytes. A
//! chunk counts as a request.

use std::convert::Infallible;
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use poll_probe::locked;
use run_format::{Part, Sizes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::{Delivery, RequestLog, SendTimes};

/// Sends chunks to a peer, at the rate of the part or while fewer than its limit are unacknowledged. `is_last` gets the
/// number of the send whose chunk has arrived, and says whether that was the last stream to bring one.
pub async fn send_chunks(
    part: &Part,
    mut times: SendTimes<'_>,
    peer: usize,
    (mut reading, mut writing): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    log: &Mutex<RequestLog>,
    is_last: impl Fn(u64) -> bool,
) -> Result<Infallible> {
    /// If a peer is slower than the rate, chunks are sent later and later, and the run fails at this limit.
    const MOST_UNDER_WAY: usize = 64;
    let (sizes, clock) = (&part.sizes, locked(log).clock());
    let most = part
        .outstanding
        .map_or(MOST_UNDER_WAY, |most| most.get() as usize);
    let (sent, mut chunks_sent) = mpsc::channel(most);
    let write = async {
        let chunk = vec![0; sizes.largest().len()];
        let mut number = 0;
        loop {
            let (send, due) = times.next().await;
            let (place, due) = match part.rate {
                Some(_) => (sent.try_reserve().ok(), due),
                None => (sent.reserve().await.ok(), Instant::now()),
            };
            let too_slow = || {
                format!(
                    "peer {} has not acknowledged {most} chunks; the rate is too high",
                    peer + 1
                )
            };
            let since_ns = clock.ns_ago(due.elapsed());
            place.with_context(too_slow)?.send((send, since_ns));
            writing.write_all(&chunk[..sizes.nth(number).len()]).await?;
            writing.flush().await?;
            number += 1;
        }
    };
    let read = async {
        let mut sent = (0, 0);
        loop {
            let bytes = u64::from(sizes.nth(sent.0).bytes());
            sent = (sent.0 + 1, sent.1 + bytes);
            let counted = (reading.read_u64().await?, reading.read_u64().await?);
            ensure!(
                counted == sent,
                "peer {} has counted {counted:?} chunks and bytes, but was sent {sent:?}",
                peer + 1
            );
            let (send, since_ns) = chunks_sent
                .recv()
                .await
                .context("the peer acknowledged a chunk that was not sent")?;
            locked(log).delivered(Delivery {
                peer,
                since_ns,
                bytes,
                expected: 1,
                is_last: is_last(send),
            });
        }
    };
    tokio::select! {
        broken = write => broken,
        broken = read => broken,
    }
}

/// Receives chunks of these sizes at a peer, and acknowledges them.
pub async fn count_chunks(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    sizes: &Sizes,
) -> Result<Infallible> {
    let mut chunk = vec![0; sizes.largest().len()];
    let (mut chunks, mut bytes) = (0, 0);
    loop {
        let (mut received, length) = (0, sizes.nth(chunks).len());
        while received < length {
            let read = stream.read(&mut chunk[received..length]).await?;
            ensure!(read > 0, "central closed the stream");
            received += read;
            bytes += read as u64;
        }
        chunks += 1;
        stream.write_u64(chunks).await?;
        stream.write_u64(bytes).await?;
        stream.flush().await?;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use poll_probe::{Capacity, Recorder};
    use run_format::{Load, Pace, Payload, Workload};
    use tokio::io::{duplex, split};
    use tokio::task::yield_now;

    use super::*;

    /// Sends chunks of two sizes until `enough` are acknowledged. The peer expects the same sizes unless `sizes_of_peer` says
    /// otherwise.
    async fn exchange(enough: u64, sizes_of_peer: Option<Sizes>) -> Result<Infallible> {
        let pace = Pace::Outstanding(3);
        let payload = Payload::of_bytes(16);
        let mut part = Part::whole(Workload::Stream, Load { payload, pace });
        part.sizes = vec!["16B x 2".to_owned(), "64B".to_owned()]
            .try_into()
            .expect("sizes");
        let ((near, far), acknowledged) = (duplex(100), Cell::new(0));
        let (log, _seen) = RequestLog::new(Recorder::new(Capacity::default()).clock(), 1 << 10);
        let log = Mutex::new(log);
        let times = SendTimes::new(&part, Instant::now());
        let is_last = |_| {
            acknowledged.set(acknowledged.get() + 1);
            false
        };
        let until_enough = async {
            while acknowledged.get() < enough {
                yield_now().await;
            }
        };
        let expected = sizes_of_peer.unwrap_or(part.sizes.clone());
        tokio::select! {
            ended = send_chunks(&part, times, 0, split(near), &log, is_last) => ended,
            ended = count_chunks(far, &expected) => ended,
            () = until_enough => anyhow::bail!("enough"),
        }
    }

    #[tokio::test]
    async fn chunks_of_all_sizes_are_counted_and_a_wrong_count_is_noticed() {
        let ended = exchange(100, None).await.expect_err("it ends");
        assert_eq!(ended.to_string(), "enough");
        let larger = Sizes::one(Payload::of_bytes(32));
        let ended = exchange(100, Some(larger)).await.expect_err("it ends");
        let wrong = "peer 1 has counted (1, 32) chunks and bytes, but was sent (1, 16)";
        assert_eq!(ended.to_string(), wrong);
    }
}
