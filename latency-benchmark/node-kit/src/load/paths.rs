//! Two paths of requests, libp2p and raw TCP, which take turns inside one process. While it is the turn of one path,
//! nothing goes over the other.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::sync::watch;

/// The path of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficPath {
    /// Over a TCP socket.
    RawTcp,
    /// Over a stream of libp2p.
    Libp2p,
}

/// Chooses the path that requests take.
pub(crate) struct PathSwitch {
    path: watch::Sender<Option<TrafficPath>>,
    /// Everyone who sends requests holds a clone.
    busy: Arc<()>,
}

/// Sends requests over a path while a [`PathSwitch`] has chosen it.
#[derive(Clone)]
pub struct PathUser {
    path: watch::Receiver<Option<TrafficPath>>,
    busy: Weak<()>,
}

impl PathSwitch {
    /// Makes a switch and its user. No path is chosen yet.
    pub(crate) fn new() -> (PathSwitch, PathUser) {
        let (sender, receiver) = watch::channel(None);
        let busy = Arc::new(());
        let user = PathUser {
            path: receiver,
            busy: Arc::downgrade(&busy),
        };
        (PathSwitch { path: sender, busy }, user)
    }

    /// Ends the turn of a path, waits for its last requests, and begins the turn of another path.
    pub(crate) fn change(&self, to: Option<TrafficPath>, patience: Duration) -> Result<()> {
        const LOOK: Duration = Duration::from_millis(1);
        self.give(None);
        let began = Instant::now();
        while !self.has_no_request() {
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
        self.path.send_replace(path);
    }

    /// Whether no request is under way. While no path is chosen, none begins.
    fn has_no_request(&self) -> bool {
        Arc::strong_count(&self.busy) == 1
    }
}

impl PathUser {
    /// Waits for the turn of `path`. The turn lasts until the returned value is dropped. Returns None if the switch is gone.
    pub async fn begin(&mut self, path: TrafficPath) -> Option<Arc<()>> {
        let begun = self.path.wait_for(|chosen| *chosen == Some(path)).await;
        begun.ok().and_then(|_| self.busy.upgrade())
    }

    /// Whether the turn goes on. It has ended already if the user noticed it too late.
    pub fn goes_on(&self) -> bool {
        matches!(self.path.has_changed(), Ok(false))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio::task::yield_now;

    use super::*;

    async fn until(is_so: impl Fn() -> bool) {
        let wait = async {
            while !is_so() {
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
        let (switch, user) = PathSwitch::new();
        let counts = paths.map(|path| {
            let (mut user, count) = (user.clone(), Arc::new(AtomicU64::new(0)));
            let counted = Arc::clone(&count);
            tokio::spawn(async move {
                while let Some(_turn) = user.begin(path).await {
                    while user.goes_on() {
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
                until(|| switch.has_no_request()).await;
                let after = seen();
                for _ in 0..100 {
                    yield_now().await;
                }
                assert_eq!(seen(), after, "nobody has a turn");
            }
        }
    }
}
