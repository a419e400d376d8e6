//! Two paths of requests, libp2p and raw TCP, which take turns inside one process. While it is the turn of one path,
//! nothing goes over the other.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::sync::watch;

/// How requests travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficPath {
    /// Over a TCP socket.
    RawTcp,
    /// Over a stream of libp2p.
    Libp2p,
}

/// Says whose turn it is.
pub(crate) struct TurnSwitch {
    turn: watch::Sender<Option<TrafficPath>>,
    /// Shared with those that have begun a turn.
    busy: Arc<()>,
}

/// The end of a switch that takes turns.
#[derive(Clone)]
pub struct TurnTaker {
    turn: watch::Receiver<Option<TrafficPath>>,
    busy: Weak<()>,
}

impl TurnSwitch {
    /// Both ends. It is nobody's turn yet.
    pub(crate) fn new() -> (TurnSwitch, TurnTaker) {
        let (sender, receiver) = watch::channel(None);
        let busy = Arc::new(());
        let taker = TurnTaker {
            turn: receiver,
            busy: Arc::downgrade(&busy),
        };
        (TurnSwitch { turn: sender, busy }, taker)
    }

    /// Waits for the requests of the path that had its turn, and lets those of another begin.
    pub(crate) fn change(&self, to: Option<TrafficPath>, patience: Duration) -> Result<()> {
        const LOOK: Duration = Duration::from_millis(1);
        self.give(None);
        let began = Instant::now();
        while !self.is_idle() {
            let seconds = patience.as_secs();
            ensure!(
                began.elapsed() < patience,
                "a request was not answered {seconds} s after its turn"
            );
            thread::sleep(LOOK);
        }
        self.give(to);
        Ok(())
    }

    /// Lets requests begin on one path, or on none.
    fn give(&self, path: Option<TrafficPath>) {
        self.turn.send_replace(path);
    }

    /// Whether no request is under way. This stays so while it is nobody's turn.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.busy) == 1
    }
}

impl TurnTaker {
    /// Waits for the turn of `path`, which lasts until what this returns is dropped. None if there will be none.
    pub async fn begin(&mut self, path: TrafficPath) -> Option<Arc<()>> {
        let begun = self.turn.wait_for(|turn| *turn == Some(path)).await;
        begun.ok().and_then(|_| self.busy.upgrade())
    }

    /// Whether the turn goes on. A taker that noticed its turn too late begins nothing after it.
    pub fn goes_on(&self) -> bool {
        matches!(self.turn.has_changed(), Ok(false))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio::task::yield_now;

    use super::*;

    async fn until(what: impl Fn() -> bool) {
        let wait = async {
            while !what() {
                yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), wait)
            .await
            .expect("within a minute");
    }

    #[tokio::test]
    async fn only_the_path_whose_turn_it_is_has_requests_and_they_end_with_the_turn() {
        let paths = [TrafficPath::RawTcp, TrafficPath::Libp2p];
        let (switch, taker) = TurnSwitch::new();
        let counts = paths.map(|path| {
            let (mut taker, count) = (taker.clone(), Arc::new(AtomicU64::new(0)));
            let counted = Arc::clone(&count);
            tokio::spawn(async move {
                while let Some(_turn) = taker.begin(path).await {
                    while taker.goes_on() {
                        yield_now().await;
                        counted.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
            count
        });
        let seen = || [0, 1].map(|at: usize| counts[at].load(Ordering::SeqCst));
        for _ in 0..100 {
            yield_now().await;
        }
        assert_eq!(seen(), [0, 0], "nobody had a turn yet");
        for _ in 0..3 {
            for (at, path) in paths.into_iter().enumerate() {
                let before = seen();
                switch.give(Some(path));
                until(|| seen()[at] > before[at] + 10).await;
                assert_eq!(seen()[1 - at], before[1 - at], "the other has no turn");
                switch.give(None);
                until(|| switch.is_idle()).await;
                let after = seen();
                for _ in 0..100 {
                    yield_now().await;
                }
                assert_eq!(seen(), after, "nobody has a turn");
            }
        }
    }
}
