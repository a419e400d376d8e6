//! Rows that real measurements wrote are not refused.

use run_format::{MeasuredSpan, Plausible, SliceRow};

#[test]
fn a_poll_of_a_stopped_program_lasts_until_the_program_goes_on() {
    // Other programs had their turns in the middle of a poll. Its thread waited for its core then, too.
    let slice = SliceRow {
        duration_ms: 70.3,
        sampled_ms: 70.5,
        turns: 3,
        monitor_task_ns: Some(435_167_586),
        runtime_busy_ns: 438_711_913,
        central_runqueue_ns: Some(127_780_490),
        ..SliceRow::default()
    };
    let span = MeasuredSpan {
        ms: 70.3,
        turns: 3.0,
        threads: 1.0,
        took_ms: 66_000.0,
    };
    slice.check(&span).expect("it was measured");
}
