//! The limits that end a comparison.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use run_format::{ApplicationOutcome, HistogramOf};

use crate::slices::ObservedSlice;

/// The application's own check.
pub(crate) type Check = Box<dyn FnMut() -> Result<(), String> + Send>;

pub(crate) struct Guard {
    timer_limit: Duration,
    pub(crate) check: Option<Check>,
    /// The number of timers seen in this turn.
    timers: u64,
    /// The time at which the last of them was seen, or the turn began.
    last_timer: Instant,
    /// The number of turns in a row that lost records.
    lossy_turns: u32,
}

impl Guard {
    pub(crate) fn new(timer_limit: Duration, check: Option<Check>) -> Guard {
        Guard {
            timer_limit,
            check,
            timers: 0,
            last_timer: Instant::now(),
            lossy_turns: 0,
        }
    }

    /// Begins a turn.
    pub(crate) fn begin(&mut self) {
        self.timers = 0;
        self.last_timer = Instant::now();
    }

    pub(crate) fn check_timers(&mut self, turn: &ObservedSlice) -> Result<(), ApplicationOutcome> {
        /// The 99th percentile of fewer timers is only the latest of them.
        const ENOUGH: u64 = 50;
        let limit = self.timer_limit;
        let timers = turn.histograms.count(HistogramOf::CotenantTimer);
        if timers > self.timers {
            self.timers = timers;
            self.last_timer = Instant::now();
        }
        let silent = self.last_timer.elapsed();
        // The timer's pauses are up to 3 ms, and the buffers are emptied every 15 ms.
        if silent > limit + Duration::from_millis(20) {
            return end_comparison(format!(
                "no timer has run for {} ms; the limit is {} ms",
                silent.as_millis(),
                limit.as_millis()
            ));
        }
        // This check runs a hundred times a second. A histogram knows its maximum without a search.
        let latest = turn.histograms.get(HistogramOf::CotenantTimer);
        let latest_ns = latest.map_or(0, Histogram::max);
        if timers < ENOUGH || Duration::from_nanos(latest_ns) <= limit {
            return Ok(());
        }
        let late_ns = turn.histograms.quantile(HistogramOf::CotenantTimer, 0.99);
        let late = Duration::from_nanos(late_ns.unwrap_or(0));
        if late > limit {
            return end_comparison(format!(
                "timers were {} ms late (99th percentile of a turn); the limit is {} ms",
                late.as_millis(),
                limit.as_millis()
            ));
        }
        Ok(())
    }

    /// Counts a turn that lost this number of records.
    pub(crate) fn lost(&mut self, records: u64) -> Result<(), ApplicationOutcome> {
        const MOST: u32 = 10;
        self.lossy_turns = if records > 0 { self.lossy_turns + 1 } else { 0 };
        match self.lossy_turns {
            MOST.. => end_comparison(format!(
                "{MOST} turns one after another lost records, {records} in the last"
            )),
            _ => Ok(()),
        }
    }
}

/// Ends the comparison for this reason.
pub(crate) fn end_comparison(reason: String) -> Result<(), ApplicationOutcome> {
    Err(ApplicationOutcome::Guardrail { reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new(Duration::from_millis(100), None)
    }

    #[test]
    fn timers_that_are_late_end_it_once_there_are_enough() {
        let mut turn = ObservedSlice::default();
        let late = |turn: &mut ObservedSlice, times| {
            for _ in 0..times {
                turn.histograms
                    .record(HistogramOf::CotenantTimer, 200_000_000);
            }
        };
        late(&mut turn, 49);
        assert_eq!(guard().check_timers(&turn), Ok(()));
        late(&mut turn, 1);
        let ended = guard().check_timers(&turn);
        assert!(
            matches!(ended, Err(ApplicationOutcome::Guardrail { reason }) if reason.contains("100 ms"))
        );
    }

    #[test]
    fn a_runtime_that_runs_no_timer_ends_it() {
        let mut guard = Guard::new(Duration::ZERO, None);
        guard.begin();
        std::thread::sleep(Duration::from_millis(30));
        let ended = guard.check_timers(&ObservedSlice::default());
        assert!(
            matches!(ended, Err(ApplicationOutcome::Guardrail { reason }) if reason.contains("no timer"))
        );
    }

    #[test]
    fn ten_turns_that_lose_records_one_after_another_end_it() {
        let mut guard = guard();
        for _ in 0..2 {
            assert!((0..9).all(|_| guard.lost(3).is_ok()));
            assert_eq!(guard.lost(0), Ok(()));
        }
        assert!((0..9).all(|_| guard.lost(3).is_ok()));
        guard.lost(3).expect_err("the tenth");
    }
}
