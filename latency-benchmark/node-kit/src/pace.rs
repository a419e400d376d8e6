//! Requests of which each has a stream of its own, at the pace that the load asks for.

use std::{convert::Infallible, future::Future, time::Duration};

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, stream::FuturesUnordered};
use program::{Failure, reject};
use run_format::config::{Load, Measurement, Pace};
use tokio::time::interval;

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
    let (outstanding, rate) = match load.pace {
        Pace::Outstanding(outstanding) => (outstanding as usize, None),
        Pace::PerSecond(rate) => (0, Some(rate * peers as f64)),
    };
    let first = (0..outstanding).flat_map(|_| 0..peers);
    let mut asked: FuturesUnordered<_> = first.map(|peer| ask(peer, log.now_ns())).collect();
    // A tick that is late is not left out.
    let mut due = interval(Duration::from_secs_f64(rate.map_or(1.0, |rate| 1.0 / rate)));
    let mut next = 0;
    loop {
        tokio::select! {
            Some(answered) = asked.next() => {
                let (peer, since_ns) = answered?;
                log.answered(peer, since_ns, 2 * load.payload.len() as u64);
                if rate.is_none() {
                    asked.push(ask(peer, log.now_ns()));
                }
            }
            at = due.tick(), if rate.is_some() => {
                ensure!(
                    asked.len() < MOST_UNANSWERED,
                    "{MOST_UNANSWERED} requests are unanswered: the rate is more than the peers can take"
                );
                let late_ns = at.elapsed().as_nanos() as u64;
                asked.push(ask(next, log.now_ns().saturating_sub(late_ns)));
                next = (next + 1) % peers;
            }
        }
    }
}
