//! Measures the cost of the probe on this core with invocations that do nothing, before the run. A reader can compare it with
//! the polls of the run.

use std::hint::black_box;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use poll_probe::{Invocation, Mode, ProcessBudgets, Recorder, Variant};
use run_format::Site;

use super::median::median;

const ROUNDS: usize = 31;
const INVOCATIONS: u32 = 2_000;

/// Returns how many nanoseconds it takes to record an invocation of one iteration, as the median of some rounds. The recorder
/// must be attached to this thread. These records are thrown away.
pub(crate) fn measure(recorder: &Recorder) -> f64 {
    Variant {
        budgets: ProcessBudgets::NONE,
        mode: Mode::Minimal,
    }
    .install();
    let rounds: Vec<Duration> = (0..ROUNDS).map(|_| round(recorder)).collect();
    Variant::default().install();
    median(rounds).as_nanos() as f64 / f64::from(INVOCATIONS)
}

fn round(recorder: &Recorder) -> Duration {
    let cx = &mut Context::from_waker(Waker::noop());
    let start = Instant::now();
    for _ in 0..INVOCATIONS {
        let mut invocation = Invocation::enter(Site::Connection.into(), &["child"]);
        if invocation.iterate(cx).is_ready() {
            invocation.child(0);
            black_box(());
            invocation.child_ended();
            invocation.pending();
        }
    }
    let took = start.elapsed();
    recorder.drain(|_| ());
    took
}
