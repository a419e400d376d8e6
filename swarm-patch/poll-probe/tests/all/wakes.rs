//! The effect of the two kinds of wake on other tasks of the same worker.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{self, TASK, alone};
use poll_probe::{Mode, Probe, Variant};

const ITERATIONS: u32 = 50;

/// A task that spends its budget at every iteration shares a worker with a task that another thread woke.
/// Returns the number of its iterations before the other task ran.
fn iterations_before_the_other_ran(budgets: &str) -> u32 {
    static OTHER_RAN_AT: AtomicU32 = AtomicU32::new(u32::MAX);
    static ITERATION: AtomicU32 = AtomicU32::new(0);

    Variant {
        budgets: common::budgets(budgets),
        mode: Mode::Off,
    }
    .install();
    OTHER_RAN_AT.store(u32::MAX, Ordering::Relaxed);
    // Long enough that the runtime looks at wakes of other threads only when it has nothing to do.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .global_queue_interval(10_000)
        .event_interval(10_000)
        .build()
        .unwrap();
    let remote = runtime.handle().clone();
    runtime.block_on(async move {
        let greedy = tokio::spawn(Probe::new(TASK).instrument(async move {
            for iteration in 1..=ITERATIONS {
                poll_probe::iterate().await;
                ITERATION.store(iteration, Ordering::Relaxed);
                if iteration == 1 {
                    let remote = remote.clone();
                    let spawning = std::thread::spawn(move || {
                        remote.spawn(async {
                            OTHER_RAN_AT
                                .store(ITERATION.load(Ordering::Relaxed), Ordering::Relaxed);
                        });
                    });
                    spawning.join().unwrap();
                }
            }
        }));
        greedy.await.unwrap();
        tokio::task::yield_now().await;
    });
    OTHER_RAN_AT.load(Ordering::Relaxed)
}

#[test]
fn a_deferred_wake_lets_a_task_woken_by_another_thread_run_first_and_an_immediate_one_does_not() {
    let _alone = alone();
    assert_eq!(
        iterations_before_the_other_ran("task=1/immediate"),
        ITERATIONS
    );
    assert_eq!(iterations_before_the_other_ran("task=1/deferred"), 1);
}
