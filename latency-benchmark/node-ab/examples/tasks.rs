//! A tokio program without a network. A few tasks compute in a loop, and each of its rounds is an iteration that a budget
//! can end: `iterate` stands at its top, and `Probe` around the task.
//!
//!     NODE_AB=20s cargo run --release -p node-ab --example tasks
//!
//! `TASKS_FAIL` chooses a failure: the application's `check` fails, the application has a `panic`, its `runtime` ends early,
//! a site is polled only `late`, or the `reader` of the records panics. `TASKS_BUDGET` is the budget, `task=8/deferred` by
//! default. `TASKS_BYTES` is how many bytes a message counts, none by default. `TASKS_RUN` is the folder of the run.
//! `TASKS_TIMER_LIMIT_MS` is the guardrail, 100 by default.

use std::error::Error;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use node_ab::{NodeAb, Probe, Running, TASK, iterate};
use run_format::Site;

fn main() -> Result<(), Box<dyn Error>> {
    let ab = NodeAb::from_env()?;
    let fails = env::var("TASKS_FAIL").unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    // This thread never polls, so it takes no buffers.
    thread::spawn(thread::park);
    // A panic drops what was made last first: the comparison ends before its runtime does.
    let mut runtime = Some(runtime);
    let entered = runtime.as_ref().expect("it is new");
    let running = entered.block_on(start(&ab, &fails))?;
    let began = Instant::now();
    // An application would go on for as long as it likes.
    while running.is_running() {
        thread::sleep(Duration::from_millis(20));
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
    if fails == "reader" {
        let before = anonymous_kib()?;
        (0..1_000_000).for_each(|_| ab.count_request(Duration::ZERO));
        let grown = anonymous_kib()?.saturating_sub(before);
        println!("a million requests that nobody reads: {grown} KiB");
    }
    Ok(())
}

async fn start(ab: &NodeAb, fails: &str) -> Result<Running, node_ab::Error> {
    for task in 0..2 {
        let ab = ab.clone();
        let work = async move { work(&ab, task).await };
        tokio::spawn(Probe::new(TASK).instrument(work));
    }
    let began = Instant::now();
    let fails = fails.to_owned();
    let budget = env::var("TASKS_BUDGET").unwrap_or_else(|_| "task=8/deferred".to_owned());
    let ms = |text: String| text.parse().expect("a number of milliseconds");
    let limit_ms = env::var("TASKS_TIMER_LIMIT_MS").map_or(100, ms);
    ab.budgets(["none", &budget])
        .timer_limit(Duration::from_millis(limit_ms))
        .write_to(env::var("TASKS_RUN").unwrap_or_else(|_| "ab-run".to_owned()))
        .check(move || match &*fails {
            "check" | "reader" if began.elapsed() < Duration::from_millis(2500) => Ok(()),
            "check" => Err("it was asked to".to_owned()),
            "reader" => panic!("it was asked to"),
            _ => Ok(()),
        })
        .start()
}

/// Computes forty messages, one an iteration, and waits for more.
async fn work(ab: &NodeAb, task: u64) {
    let bytes = env::var("TASKS_BYTES").map_or(0, |text| text.parse().expect("a number of bytes"));
    loop {
        let came = Instant::now();
        for message in 0..40 {
            iterate().await;
            black_box((0..4000).fold(task, |sum, n: u64| sum.rotate_left(5) ^ n ^ message));
            ab.count_bytes(bytes);
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

fn anonymous_kib() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|row| row.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("the kernel does not say RssAnon")?.parse()?)
}
