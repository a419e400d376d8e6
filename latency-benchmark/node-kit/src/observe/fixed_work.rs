//! Times a fixed piece of work that resembles a poll: it encrypts, copies and calls the kernel. The time tells how fast
//! central's core is at the moment.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use chacha20poly1305::{AeadInPlace, ChaCha20Poly1305, KeyInit};
use poll_probe::locked;
use tokio::runtime;

use super::median::median;

/// About as many bytes as a frame of noise holds.
const BYTES: usize = 16 * 1024;

/// Does the work on a worker of the runtime.
pub(crate) struct FixedWork {
    runtime: runtime::Handle,
    work: Arc<Mutex<Work>>,
}

impl FixedWork {
    pub(crate) fn new(runtime: runtime::Handle) -> Result<FixedWork> {
        let work = Arc::new(Mutex::new(Work::new()?));
        Ok(FixedWork { runtime, work })
    }

    /// Returns the median time of some repetitions in one poll. So a repetition that was interrupted does not count.
    pub(crate) fn time(&self) -> Result<Duration> {
        const REPEAT: usize = 9;
        const PATIENCE: Duration = Duration::from_secs(10);
        let (sender, receiver) = mpsc::channel();
        let work = Arc::clone(&self.work);
        self.runtime.spawn(async move {
            let mut work = locked(&work);
            let times: io::Result<Vec<Duration>> = (0..REPEAT).map(|_| work.once()).collect();
            let _ = sender.send(times);
        });
        let times = receiver
            .recv_timeout(PATIENCE)
            .context("central's worker did not poll a ready task within 10 s")?
            .context("the fixed piece of work failed")?;
        Ok(median(times))
    }
}

struct Work {
    cipher: ChaCha20Poly1305,
    from: Vec<u8>,
    to: Vec<u8>,
    ends: (UnixStream, UnixStream),
}

impl Work {
    fn new() -> io::Result<Work> {
        Ok(Work {
            cipher: ChaCha20Poly1305::new(&[7; 32].into()),
            from: vec![1; BYTES],
            to: vec![0; BYTES],
            ends: UnixStream::pair()?,
        })
    }

    fn once(&mut self) -> io::Result<Duration> {
        let began = Instant::now();
        self.to.copy_from_slice(&self.from);
        let (nonce, frame) = ([0; 12].into(), &mut self.to);
        let encrypted = self.cipher.encrypt_in_place_detached(&nonce, b"", frame);
        encrypted.map_err(|_| io::Error::other("a frame was not encrypted"))?;
        self.ends.0.write_all(&self.to)?;
        self.ends.1.read_exact(&mut self.from)?;
        Ok(began.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_done_by_the_runtime() {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .expect("a runtime");
        let took = FixedWork::new(runtime.handle().clone())
            .expect("buffers")
            .time();
        assert!(took.expect("a time") > Duration::ZERO);
    }

    #[test]
    fn the_work_changes_what_it_works_on() {
        let mut work = Work::new().expect("a pair of sockets");
        work.once().expect("a time");
        assert_ne!(
            work.from,
            vec![1; BYTES],
            "it was encrypted, sent and received"
        );
        assert_eq!(work.from, work.to);
    }
}
