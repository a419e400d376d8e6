//! A request and an answer of the same size, with nothing around them. The code is the same over a stream of libp2p and over a
//! TCP socket, so that only libp2p makes a difference.

use std::convert::Infallible;
use std::io::{self, Error, ErrorKind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use node_kit::{RequestLog, locked};
use poll_probe::RecordClock;
use run_format::{Payload, Sizes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub(crate) struct Asker<S> {
    stream: S,
    request: Vec<u8>,
    answer: Vec<u8>,
    log: Arc<Mutex<RequestLog>>,
    clock: RecordClock,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Asker<S> {
    pub(crate) fn new(stream: S, largest: Payload, log: Arc<Mutex<RequestLog>>) -> Asker<S> {
        let clock = locked(&log).clock();
        Asker {
            clock,
            log,
            stream,
            request: vec![0; largest.len()],
            answer: vec![0; largest.len()],
        }
    }

    /// Asks a peer, waits for the answer, and notes it. `late` is how long ago the request was due.
    pub(crate) async fn ask(
        &mut self,
        peer: usize,
        size: Payload,
        late: Duration,
    ) -> io::Result<()> {
        let since_ns = self.clock.ns_ago(late);
        let request = &mut self.request[..size.len()];
        let answer = &mut self.answer[..size.len()];
        // Each request differs from the one before, so that a wrong answer is noticed.
        if let Some(first) = request.first_mut() {
            *first = first.wrapping_add(1);
        }
        self.stream.write_all(request).await?;
        self.stream.flush().await?;
        self.stream.read_exact(answer).await?;
        if answer != request {
            let wrong = "the answer is not what was sent";
            return Err(Error::new(ErrorKind::InvalidData, wrong));
        }
        locked(&self.log).answered(peer, since_ns, 2 * size.len() as u64);
        Ok(())
    }
}

/// Answers requests until the stream breaks.
pub(crate) async fn echo(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    sizes: &Sizes,
) -> io::Result<Infallible> {
    let mut bytes = vec![0; sizes.largest().len()];
    let mut number = 0;
    loop {
        let bytes = &mut bytes[..sizes.nth(number).len()];
        number += 1;
        stream.read_exact(bytes).await?;
        stream.write_all(bytes).await?;
        stream.flush().await?;
    }
}
