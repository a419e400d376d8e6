//! Decides which program has a turn, among programs that are alive at the same time. One runs, and the others are paused.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

pub(crate) struct TurnOrder {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    rng: StdRng,
    /// The programs that have not ended. Each has the block for which it asks for a turn, or None while it starts or runs.
    asks: BTreeMap<usize, Option<u32>>,
    /// The programs that have not asked for a turn yet. They start one after the other.
    starting: Vec<usize>,
    running: Option<usize>,
    /// The programs that have had a turn in this round.
    had_turn: Vec<usize>,
}

/// A program's place in the order. Dropping it gives the place up.
pub(crate) struct Seat<'a> {
    order: &'a TurnOrder,
    program: usize,
}

impl TurnOrder {
    pub(crate) fn new(programs: usize, seed: u64) -> TurnOrder {
        TurnOrder {
            state: Mutex::new(State {
                rng: StdRng::seed_from_u64(seed),
                asks: (0..programs).map(|program| (program, None)).collect(),
                starting: (0..programs).collect(),
                running: None,
                had_turn: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn seat(&self, program: usize) -> Seat<'_> {
        Seat {
            order: self,
            program,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        state.choose();
        self.changed.notify_all();
    }
}

impl Seat<'_> {
    /// Waits until the programs before this one have started, so that none disturbs another then.
    pub(crate) fn wait_to_start(&self) {
        let starts_later = |state: &mut State| state.starting.first() != Some(&self.program);
        let state = self.order.state();
        drop(self.order.changed.wait_while(state, starts_later));
    }

    /// Asks for a turn of a block. The turn that the program has ends.
    pub(crate) fn ask(&self, block: u32) {
        self.order.change(|state| {
            state.end_turn(self.program);
            state.asks.insert(self.program, Some(block));
        });
    }

    /// Waits for the turn. Returns whether the program got it within this time.
    pub(crate) fn has_turn_within(&self, time: Duration) -> bool {
        let waits = |state: &mut State| state.running != Some(self.program);
        let waited = (self.order.changed).wait_timeout_while(self.order.state(), time, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.running == Some(self.program)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.order.change(|state| {
            state.end_turn(self.program);
            state.asks.remove(&self.program);
        });
    }
}

impl State {
    fn end_turn(&mut self, program: usize) {
        self.starting.retain(|starting| *starting != program);
        if self.running == Some(program) {
            self.running = None;
        }
    }

    /// Gives the turn to a program if none has it. Every program has one turn in a round, in random order. A program that is a
    /// block ahead waits for the others.
    fn choose(&mut self) {
        let asked: Option<Vec<u32>> = self.asks.values().copied().collect();
        let Some(block) = asked.and_then(|blocks| blocks.into_iter().min()) else {
            return;
        };
        if self.running.is_some() {
            return;
        }
        let asking = self.asks.iter().filter(|(_, asks)| **asks == Some(block));
        let asking: Vec<usize> = asking.map(|(program, _)| *program).collect();
        if asking.iter().all(|program| self.had_turn.contains(program)) {
            self.had_turn.clear();
        }
        let mut candidates = asking;
        candidates.retain(|program| !self.had_turn.contains(program));
        let chosen = candidates[self.rng.random_range(..candidates.len())];
        self.had_turn.push(chosen);
        self.asks.insert(chosen, None);
        self.running = Some(chosen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Duration = Duration::ZERO;

    fn running(seats: &[Seat<'_>]) -> Option<usize> {
        seats.iter().position(|seat| seat.has_turn_within(AT_ONCE))
    }

    #[test]
    fn every_program_has_a_turn_in_each_round_and_the_order_is_random() {
        let order = TurnOrder::new(3, 1);
        let seats: Vec<_> = (0..3).map(|program| order.seat(program)).collect();
        seats[0].ask(0);
        seats[1].ask(0);
        assert_eq!(running(&seats), None, "one has not started yet");
        seats[2].ask(0);
        let mut orders = Vec::new();
        for _ in 0..30 {
            let mut round = Vec::new();
            for _ in 0..3 {
                let now = running(&seats).expect("all have asked");
                round.push(now);
                seats[now].ask(0);
            }
            let mut all = round.clone();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2]);
            orders.push(round);
        }
        orders.sort();
        orders.dedup();
        assert!(orders.len() > 3, "{orders:?}");
    }

    #[test]
    fn one_that_is_ahead_waits_and_one_that_ended_is_not_waited_for() {
        let order = TurnOrder::new(2, 1);
        let mut seats: Vec<_> = (0..2).map(|program| order.seat(program)).collect();
        seats[0].ask(2);
        seats[1].ask(1);
        for _ in 0..5 {
            assert_eq!(running(&seats), Some(1));
            seats[1].ask(1);
        }
        drop(seats.pop());
        assert_eq!(running(&seats), Some(0));
    }

    #[test]
    fn programs_start_one_after_the_other() {
        let order = TurnOrder::new(2, 1);
        let (first, second) = (order.seat(0), order.seat(1));
        first.wait_to_start();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| second.wait_to_start());
            first.ask(0);
            waiting.join().expect("no panic");
        });
        second.ask(0);
        assert!(running(&[first, second]).is_some());
    }
}
