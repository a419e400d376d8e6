//! Requests of which each has a stream of its own, at the pace that the load asks for.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use program::{Failure, reject};
use run_format::config::{Load, Measurement, Pace};
use tokio::time::{Interval, interval};

use crate::RequestLog;

/// Refuses what a node program cannot do that `knows` what is asked, but no peers that come and go, and no workload rr.
pub fn refuse_unless(knows: bool, measurement: &Measurement, known: &str) -> Result<(), Failure> {
    let stays = match measurement {
        Measurement::BesideTcp => false,
        Measurement::Soak(plan) => plan.churn.period().is_none(),
        Measurement::Compare | Measurement::Explain(_) => true,
    };
    if !(knows && stays) {
        reject!("this node program knows {known}, with peers that stay");
    }
    Ok(())
}

/// In an open loop, requests pile up where the rate is too high. So many are allowed to.
pub const MOST_UNANSWERED: usize = 4096;

/// When requests are sent.
pub struct Pacer {
    /// So many to each peer are always unanswered. In an open loop, answers matter to none.
    pub outstanding: u32,
    /// In an open loop. A tick that is late is not left out.
    due: Option<Interval>,
    peers: usize,
    next: usize,
}

impl Pacer {
    /// So many peers are asked in turn.
    pub fn new(pace: Pace, peers: usize) -> Pacer {
        let (outstanding, rate) = match pace {
            Pace::Outstanding(outstanding) => (outstanding, None),
            Pace::PerSecond(rate) => (0, Some(rate * peers as f64)),
        };
        Pacer {
            outstanding,
            due: rate.map(|rate| interval(Duration::from_secs_f64(1.0 / rate))),
            peers,
            next: 0,
        }
    }

    /// The peer whose turn it is, and since how many nanoseconds. Never in a closed loop.
    pub async fn due(&mut self, unanswered: usize) -> Result<(usize, u64)> {
        let Some(due) = &mut self.due else {
            return pending().await;
        };
        let at = due.tick().await;
        ensure!(
            unanswered < MOST_UNANSWERED,
            "{MOST_UNANSWERED} requests are unanswered: the rate is more than the peers can take"
        );
        let peer = self.next;
        self.next = (peer + 1) % self.peers;
        Ok((peer, at.elapsed().as_nanos() as u64))
    }
}

/// Asks every peer, by its number from zero, again and again. It ends only with an error.
pub async fn ask_at_pace<A, F: Future<Output = Result<A>>>(
    peers: usize,
    load: Load,
    mut log: RequestLog,
    ask: impl Fn(usize) -> F,
) -> Result<Infallible> {
    let ask = |peer: usize, since_ns: u64| {
        let answered = ask(peer);
        async move {
            let failed = || format!("a request to peer {} failed", peer + 1);
            answered.await.with_context(failed)?;
            anyhow::Ok((peer, since_ns))
        }
    };
    let mut pacer = Pacer::new(load.pace, peers);
    let first = (0..pacer.outstanding).flat_map(|_| 0..peers);
    let mut asked: FuturesUnordered<_> = first.map(|peer| ask(peer, log.now_ns())).collect();
    loop {
        let unanswered = asked.len();
        tokio::select! {
            Some(answered) = asked.next() => {
                let (peer, since_ns) = answered?;
                log.answered(peer, since_ns, 2 * load.payload.len() as u64);
                if pacer.outstanding > 0 {
                    asked.push(ask(peer, log.now_ns()));
                }
            }
            due = pacer.due(unanswered) => {
                let (peer, late_ns) = due?;
                asked.push(ask(peer, log.now_ns().saturating_sub(late_ns)));
            }
        }
    }
}
