//! Sends requests at the pace of the load. Each request has a stream of its own.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use node_ab::slices::{RequestLog, SharedWithWorkload};
use poll_probe::RecordClock;
use program::{Failure, reject};
use run_format::{Load, Measurement, Pace};
use tokio::time::{Interval, interval};

/// Refuses a node that is not supported, a measurement with peers that come and go, and one with the workload rr. `supported`
/// names the supported nodes.
pub fn refuse_unless(
    is_supported: bool,
    measurement: &Measurement,
    supported: &str,
) -> Result<(), Failure> {
    let stays = match measurement {
        Measurement::Libp2pAndRawTcp => false,
        Measurement::Soak(plan) => plan.churn.period().is_none(),
        Measurement::Compare | Measurement::Explain(_) => true,
    };
    if !(is_supported && stays) {
        reject!("this node program supports only {supported}, without --churn and without rr");
    }
    Ok(())
}

/// The limit of unanswered requests in an open loop, where they pile up if the rate is too high.
pub const MOST_UNANSWERED: usize = 4096;

/// Says when requests are to be sent.
pub struct Pacer {
    /// The number of requests to each peer that are always unanswered. It is 0 in an open loop, which does not wait for
    /// answers.
    pub outstanding: u32,
    /// The ticks of an open loop. A tick that is late is not left out.
    due: Option<Interval>,
    /// Present while the pacer looks for the number of requests that are enough.
    doubling: Option<Doubling>,
    /// Requests that are to be sent at once, since their number was doubled.
    owed: u64,
    shared: Arc<SharedWithWorkload>,
    clock: RecordClock,
    peers: usize,
    next: usize,
}

impl Pacer {
    /// Makes a pacer that asks the peers one after the other.
    pub fn new(load: Load, peers: usize, log: &RequestLog) -> Pacer {
        let (outstanding, rate) = match load.pace {
            Pace::Outstanding(outstanding) => (outstanding, None),
            Pace::PerSecond(rate) => (0, Some(rate * peers as f64)),
            Pace::Saturating => (1, None),
        };
        let is_sought = load.pace == Pace::Saturating;
        Pacer {
            outstanding,
            due: rate.map(|rate| interval(Duration::from_secs_f64(1.0 / rate))),
            doubling: is_sought.then(|| Doubling::new(load, peers, log.now_ns())),
            owed: 0,
            shared: log.shared(),
            clock: log.clock(),
            peers,
            next: 0,
        }
    }

    /// Whether the next request to a peer follows the answer to an earlier one.
    pub fn is_closed_loop(&self) -> bool {
        self.outstanding > 0
    }

    /// Notes an answer. While the pacer looks for the number of requests, an answer can make further requests due.
    pub fn answered(&mut self, now_ns: u64) {
        let unanswered = u64::from(self.outstanding) * self.peers as u64;
        let Some(doubling) = &mut self.doubling else {
            return;
        };
        match doubling.answered(unanswered, now_ns) {
            None => {}
            Some(Next::Double) => {
                self.outstanding *= 2;
                self.owed += unanswered;
            }
            Some(Next::Keep) => {
                self.shared.set_outstanding(self.outstanding);
                self.doubling = None;
            }
        }
    }

    /// The peers follow each other in a circle.
    fn next_peer(&mut self) -> usize {
        let peer = self.next;
        self.next = (peer + 1) % self.peers;
        peer
    }

    /// Waits until a request is due. Returns its peer, and the time at which it was due on the clock of records. In a closed
    /// loop only requests that are owed become due here.
    pub async fn due(&mut self, unanswered: usize) -> Result<(usize, u64)> {
        if self.owed > 0 {
            self.owed -= 1;
            return Ok((self.next_peer(), self.clock.now_ns()));
        }
        let Some(due) = &mut self.due else {
            return pending().await;
        };
        let was_due = due.tick().await;
        ensure!(
            unanswered < MOST_UNANSWERED,
            "{MOST_UNANSWERED} requests are unanswered: the rate is more than the peers can take"
        );
        Ok((self.next_peer(), self.clock.ns_ago(was_due.elapsed())))
    }
}

/// Finds the number of unanswered requests at which throughput rises no further.
struct Doubling {
    /// The most unanswered requests of all peers together.
    most: u64,
    /// The answers since the number of requests was last doubled.
    answers: u64,
    since_ns: u64,
    /// Answers per nanosecond with half of that number.
    before: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Double,
    Keep,
}

impl Doubling {
    fn new(load: Load, peers: usize, now_ns: u64) -> Doubling {
        /// The most streams of a connection. Yamux allows 512.
        const MOST_STREAMS: u64 = 256;
        /// The most bytes in central's memory. The peers need the same again.
        const MOST_BYTES: u64 = 256 << 20;
        let fitting = MOST_BYTES / u64::from(load.payload.bytes()).max(1);
        Doubling {
            most: fitting.min(MOST_STREAMS * peers as u64),
            answers: 0,
            since_ns: now_ns,
            before: None,
        }
    }

    /// Notes an answer. The first answers belong to requests from before the number was doubled, so they do not count.
    fn answered(&mut self, unanswered: u64, now_ns: u64) -> Option<Next> {
        const LEAST_NS: u64 = 200_000_000;
        const LEAST_RISE: f64 = 1.1;
        self.answers += 1;
        if self.answers == unanswered {
            self.since_ns = now_ns;
        }
        let counted = self.answers.saturating_sub(unanswered);
        let took_ns = now_ns.saturating_sub(self.since_ns);
        if counted < 2 * unanswered || took_ns < LEAST_NS {
            return None;
        }
        let rate = counted as f64 / took_ns as f64;
        let before = self.before.replace(rate);
        self.answers = 0;
        let rises = before.is_none_or(|before| rate >= LEAST_RISE * before);
        Some(match rises && 2 * unanswered <= self.most {
            true => Next::Double,
            false => Next::Keep,
        })
    }
}

/// Asks every peer, by its number from zero, again and again. It ends only with an error.
pub async fn ask_at_pace<A, F: Future<Output = Result<A>>>(
    peers: usize,
    load: Load,
    mut log: RequestLog,
    ask: impl Fn(usize) -> F,
) -> Result<Infallible> {
    let ask_since = |peer: usize, since_ns: u64| {
        let answered = ask(peer);
        async move {
            let failed = || format!("a request to peer {} failed", peer + 1);
            answered.await.with_context(failed)?;
            anyhow::Ok((peer, since_ns))
        }
    };
    let mut pacer = Pacer::new(load, peers, &log);
    let first = (0..pacer.outstanding).flat_map(|_| 0..peers);
    let mut asked: FuturesUnordered<_> = first.map(|peer| ask_since(peer, log.now_ns())).collect();
    loop {
        let unanswered = asked.len();
        tokio::select! {
            Some(answered) = asked.next() => {
                let (peer, since_ns) = answered?;
                log.answered(peer, since_ns, 2 * load.payload.len() as u64);
                pacer.answered(log.now_ns());
                if pacer.is_closed_loop() {
                    asked.push(ask_since(peer, log.now_ns()));
                }
            }
            due = pacer.due(unanswered) => {
                let (peer, due_ns) = due?;
                asked.push(ask_since(peer, due_ns));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use run_format::Payload;

    use super::*;

    /// The number that is found if a request takes 10 ms and the peers answer `at_a_time` requests at once.
    fn found(at_a_time: u64, payload: Payload) -> u64 {
        const LATENCY_NS: u64 = 10_000_000;
        let load = Load {
            payload,
            pace: Pace::Saturating,
        };
        let (mut doubling, mut now_ns, mut unanswered) = (Doubling::new(load, 2, 0), 0, 2);
        loop {
            now_ns += LATENCY_NS / unanswered.min(at_a_time);
            match doubling.answered(unanswered, now_ns) {
                None => {}
                Some(Next::Double) => unanswered *= 2,
                Some(Next::Keep) => return unanswered,
            }
        }
    }

    #[test]
    fn requests_are_doubled_until_that_hardly_raises_throughput() {
        let small = Payload::kib(4);
        assert_eq!(found(1, small), 4);
        assert_eq!(found(16, small), 32);
        // From 16 to 24 at a time, throughput still rises enough.
        assert_eq!(found(24, small), 64);
        assert_eq!(found(1 << 20, small), 512, "streams are limited");
        assert_eq!(found(1 << 20, Payload::kib(16 << 10)), 16, "and memory");
    }
}
