//! Which peer is restarted when: one in every period, at any time of it so as to keep step with nothing,
//! and every peer once before any is twice.

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};

use run_format::churn::Churn;

pub(super) struct Restarts {
    period: Option<Duration>,
    began: Instant,
    /// How many there were.
    past: u32,
    next: Instant,
    peers: usize,
    /// Those whose turn is still to come in this round.
    round: Vec<usize>,
    rng: StdRng,
}

impl Restarts {
    /// The first period begins at `began`.
    pub(super) fn begin(churn: Churn, peers: usize, seed: u64, began: Instant) -> Restarts {
        let mut restarts = Restarts {
            period: churn.period(),
            began,
            past: 0,
            next: began,
            peers,
            round: Vec::new(),
            rng: StdRng::seed_from_u64(seed),
        };
        restarts.choose_time();
        restarts
    }

    /// The peer whose turn it is, if it is any's. One that is late makes the next ones no later.
    pub(super) fn due(&mut self, now: Instant) -> Option<usize> {
        self.period?;
        if now < self.next {
            return None;
        }
        self.past += 1;
        self.choose_time();
        if self.round.is_empty() {
            self.round = (0..self.peers).collect();
            self.round.shuffle(&mut self.rng);
        }
        self.round.pop()
    }

    fn choose_time(&mut self) {
        if let Some(period) = self.period {
            let part = self.rng.random_range(0.0..1.0);
            self.next = self.began + period * self.past + period.mul_f64(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_period_has_one_restart_and_every_round_each_peer() {
        let began = Instant::now();
        let mut restarts = Restarts::begin("6/min".parse().expect("a rate"), 3, 7, began);
        let mut seen = Vec::new();
        for tenth in 0..(12 * 100) {
            let at = Duration::from_millis(100 * tenth);
            if let Some(peer) = restarts.due(began + at) {
                seen.push((at.as_secs() / 10, peer));
            }
        }
        let periods: Vec<u64> = seen.iter().map(|(period, _)| *period).collect();
        assert!(periods.windows(2).all(|two| two[0] <= two[1]));
        assert!((11..=12).contains(&seen.len()), "{seen:?}");
        for round in seen.chunks_exact(3) {
            let mut peers: Vec<usize> = round.iter().map(|(_, peer)| *peer).collect();
            peers.sort_unstable();
            assert_eq!(peers, [0, 1, 2]);
        }
    }

    #[test]
    fn without_churn_it_is_nobodys_turn() {
        let began = Instant::now();
        let mut restarts = Restarts::begin("none".parse().expect("no rate"), 3, 7, began);
        assert_eq!(restarts.due(began + Duration::from_secs(1_000_000)), None);
    }
}
