//! Chunks over one long stream to each peer, which acknowledges each with a byte. A request is a chunk.

use std::convert::Infallible;
use std::io;
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use run_format::{Load, Pace, Payload};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::RequestLog;
use crate::stack_task::locked;

/// What is sent.
#[derive(Clone, Copy)]
pub struct Chunks {
    payload: Payload,
    outstanding: usize,
}

impl Chunks {
    /// Of a closed loop.
    pub fn new(load: Load) -> Result<Chunks> {
        let Pace::Outstanding(outstanding) = load.pace else {
            bail!("the workload stream has a fixed number of unacknowledged chunks");
        };
        Ok(Chunks {
            payload: load.payload,
            outstanding: outstanding as usize,
        })
    }

    /// Sends chunks while fewer than so many are unacknowledged.
    pub async fn send(
        self,
        peer: usize,
        mut reading: impl AsyncRead + Unpin,
        mut writing: impl AsyncWrite + Unpin,
        log: &Mutex<RequestLog>,
    ) -> Result<Infallible> {
        let chunk = vec![0; self.payload.len()];
        let clock = locked(log).clock();
        let (sent, mut sent_since) = mpsc::channel(self.outstanding);
        let write = async {
            loop {
                // A place among the unacknowledged, before the chunk goes out.
                let place = sent.reserve().await.context("the reading side is gone")?;
                place.send(clock.now_ns());
                writing.write_all(&chunk).await?;
                writing.flush().await?;
            }
        };
        let read = async {
            loop {
                reading.read_u8().await?;
                let since_ns = sent_since.recv().await;
                let since_ns = since_ns.context("the writing side is gone")?;
                locked(log).answered(peer, since_ns, self.payload.bytes().into());
            }
        };
        tokio::select! {
            broken = write => broken,
            broken = read => broken,
        }
    }
}

/// What a peer does with chunks of that length.
pub async fn acknowledge_chunks(
    mut link: impl AsyncRead + AsyncWrite + Unpin,
    length: usize,
) -> io::Result<Infallible> {
    let mut chunk = vec![0; length];
    loop {
        link.read_exact(&mut chunk).await?;
        link.write_all(&[1]).await?;
        link.flush().await?;
    }
}
