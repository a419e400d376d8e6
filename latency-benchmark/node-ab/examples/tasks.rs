//! A tokio program without a network. A few tasks compute in a loop, and each of its rounds is an iteration that a budget
//! can end: `iterate` stands at its top, and `Probe` around the task.
//!
//!     NODE_AB=20s cargo run --release -p node-ab --example tasks
//!
//! `TASKS_FAIL=check`, `panic` or `runtime` shows what happens if the application's check fails, if it panics, or if its
//! runtime ends early, `late` if a site is polled only after a while.
//! `TASKS_BUDGET` is the budget, `task=8/deferred` by default. `TASKS_RUN` is the folder of the run.

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use node_ab::{NodeAb, Probe, Running, TASK, iterate};
use run_format::Site;

fn main() -> Result<(), Box<dyn Error>> {
    let ab = NodeAb::from_env()?;
    let fails = env::var("TASKS_FAIL").unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let running = runtime.block_on(start(&ab, &fails))?;
    let began = Instant::now();
    let mut runtime = Some(runtime);
    // An application would go on for as long as it likes.
    while running.is_running() {
        std::thread::sleep(Duration::from_millis(20));
        if began.elapsed() > Duration::from_millis(1500) {
            match fails.as_str() {
                "late" => drop(poll_probe::Invocation::enter(Site::Muxer.into(), &[])),
                "panic" => panic!("it was asked to"),
                "runtime" => drop(runtime.take()),
                _ => {}
            }
        }
    }
    let ended = running.finish();
    println!("{ended:?}, bounded: {}", is_bounded());
    Ok(())
}

async fn start(ab: &NodeAb, fails: &str) -> Result<Running, node_ab::Error> {
    for task in 0..2 {
        let ab = ab.clone();
        let work = async move { work(&ab, task).await };
        tokio::spawn(Probe::new(TASK).instrument(work));
    }
    let began = Instant::now();
    let has_check = fails == "check";
    let budget = env::var("TASKS_BUDGET").unwrap_or_else(|_| "task=8/deferred".to_owned());
    ab.budgets(["none", &budget])
        .write_to(env::var("TASKS_RUN").unwrap_or_else(|_| "ab-run".to_owned()))
        .check(
            move || match has_check && began.elapsed() > Duration::from_millis(2500) {
                true => Err("it was asked to".to_owned()),
                false => Ok(()),
            },
        )
        .start()
}

/// Computes whatever has come in the meantime, one message an iteration.
async fn work(ab: &NodeAb, task: u64) {
    loop {
        let came = Instant::now();
        for message in 0..40 {
            iterate().await;
            black_box((0..4000).fold(task, |sum, it: u64| sum.rotate_left(5) ^ it ^ message));
        }
        ab.count_request(came.elapsed());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Whether a budget of tasks is in force: then the poll of a long loop ends early.
fn is_bounded() -> bool {
    let long = async {
        for _ in 0..100 {
            iterate().await;
        }
    };
    let mut long = pin!(Probe::new(TASK).instrument(long));
    long.as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_pending()
}
