//! A request and its answer of the same size, with nothing around them. The code is the same over a
//! stream of libp2p and over a TCP socket, so that what differs between the two is libp2p.

use std::{
    convert::Infallible,
    future::Future,
    io::{self, Error, ErrorKind},
    sync::{Arc, Mutex},
};

use futures::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use node_kit::{RequestLog, locked};
use poll_probe::Recorder;
use run_format::payload::Payload;

/// What carries bytes both ways.
pub(crate) trait ByteLink: Send + 'static {
    fn send(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;

    /// Fills `bytes`.
    fn receive(&mut self, bytes: &mut [u8]) -> impl Future<Output = io::Result<()>> + Send;
}

impl ByteLink for libp2p::Stream {
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes).await?;
        self.flush().await
    }

    async fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.read_exact(bytes).await
    }
}

impl ByteLink for TcpStream {
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes).await?;
        self.flush().await
    }

    async fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.read_exact(bytes).await.map(drop)
    }
}

pub(crate) struct Asker<L> {
    link: L,
    request: Vec<u8>,
    answer: Vec<u8>,
    log: Arc<Mutex<RequestLog>>,
    clock: Arc<Recorder>,
}

impl<L: ByteLink> Asker<L> {
    pub(crate) fn new(link: L, payload: Payload, log: Arc<Mutex<RequestLog>>) -> Asker<L> {
        let clock = locked(&log).clock();
        Asker {
            clock,
            log,
            link,
            request: vec![0; payload.len()],
            answer: vec![0; payload.len()],
        }
    }

    /// Asks that peer, waits for the answer, and notes it.
    pub(crate) async fn ask(&mut self, peer: usize) -> io::Result<()> {
        let since_ns = self.clock.now_ns();
        // Each differs from the one before, so that an answer to another is seen.
        if let Some(first) = self.request.first_mut() {
            *first = first.wrapping_add(1);
        }
        self.link.send(&self.request).await?;
        self.link.receive(&mut self.answer).await?;
        if self.answer != self.request {
            return Err(Error::new(
                ErrorKind::InvalidData,
                "the answer is not what was sent",
            ));
        }
        locked(&self.log).answered(peer, since_ns, 2 * self.request.len() as u64);
        Ok(())
    }
}

/// The side that answers, until the link breaks.
pub(crate) async fn echo(mut link: impl ByteLink, payload: Payload) -> io::Result<Infallible> {
    let mut bytes = vec![0; payload.len()];
    loop {
        link.receive(&mut bytes).await?;
        link.send(&bytes).await?;
    }
}
