//! Which peer is restarted when: one in every period, at any time of it so as to keep step with nothing,
//! and every peer once before any is twice.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use run_format::churn::Churn;

/// The times, from when measuring began, and the peers. A restart that is late makes the next ones no later.
pub(super) fn restarts(
    churn: Churn,
    peers: usize,
    seed: u64,
) -> impl Iterator<Item = (Duration, usize)> {
    let mut rng = StdRng::seed_from_u64(seed);
    // Those that are still to come before any is restarted again.
    let mut round: Vec<usize> = Vec::new();
    (0..).map_while(move |past: u32| {
        let period = churn.period()?;
        let part = rng.random_range(0.0..1.0);
        if round.is_empty() {
            round = (0..peers).collect();
            round.shuffle(&mut rng);
        }
        Some((period * past + period.mul_f64(part), round.pop()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_period_has_one_restart_and_every_round_each_peer() {
        let churn = "6/min".parse().expect("a rate");
        let seen: Vec<(Duration, usize)> = restarts(churn, 3, 7).take(12).collect();
        for (number, (at, _)) in (0..).zip(&seen) {
            assert_eq!(at.as_secs() / 10, number, "{seen:?}");
        }
        for round in seen.chunks_exact(3) {
            let mut peers: Vec<usize> = round.iter().map(|(_, peer)| *peer).collect();
            peers.sort_unstable();
            assert_eq!(peers, [0, 1, 2]);
        }
    }

    #[test]
    fn without_churn_no_peer_is_restarted() {
        let churn = "none".parse().expect("no rate");
        assert_eq!(restarts(churn, 3, 7).next(), None);
    }
}
