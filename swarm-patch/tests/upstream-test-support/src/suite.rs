//! Runs a test binary again under budgets.

use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use std::{env, thread};

use poll_probe::Invocation;
use run_format::{Budget, Budgets, Limit, Site};

use crate::env::POLL_BUDGET;

/// A test that counts the work of one poll, so that a budget changes its result by design.
#[derive(Clone, Copy, Debug)]
pub struct Excluded {
    /// The test's name, as the test binary lists it.
    pub test: &'static str,
    /// The reason why it fails under budgets, or does not end.
    pub reason: &'static str,
}

/// The budgets of the runs. Each bounds every site, and every second one has the remedy. The first is the smallest.
const BUDGETS: [&str; 4] = [
    "connection=1,muxer=1,task=1,quic-connection=1,quic-endpoint=1",
    "flush=32KiB,connection=1/deferred,muxer=1/deferred,task=1/deferred,quic-connection=1/deferred,quic-endpoint=1/deferred",
    "connection=2,muxer=2,task=2,quic-connection=2,quic-endpoint=2",
    "flush=32KiB,connection=8,muxer=8,task=8,quic-connection=8,quic-endpoint=8",
];

/// A test in which two clocks race has to pass once in this many runs.
const ATTEMPTS: usize = 5;

/// A test that has not ended after this time is taken not to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs every test of the calling binary again, in a separate process for each budget, and panics unless they pass. In the
/// `racing` tests, which are ignored, two clocks race. These tests have to pass once in a few attempts, without a budget and
/// under each. The other ignored tests were ignored by upstream, and are not run.
///
/// Only the smallest budget is tried unless `ALL_BUDGETS=1` is set, as `.ci/run` does. Then the `excluded` tests have to fail,
/// or not to end, under one of the budgets, which proves that upstream's own code is bounded.
pub fn passes_under_budgets(excluded: &[Excluded], racing: &[&str]) {
    if let Ok(budgets) = env::var(POLL_BUDGET) {
        return assert_in_force(&budgets); // This is one of the processes started below.
    }
    let ignored = tests(&["--ignored"]);
    for test in racing {
        assert!(ignored.contains(*test), "there is no ignored test {test}");
        passes_in_the_end(test, None);
    }
    let listed = tests(&[]);
    for exclusion in excluded {
        assert!(
            listed.contains(exclusion.test),
            "there is no test {} to exclude",
            exclusion.test
        );
    }
    let passed = listed.len() - excluded.len() - ignored.len();
    let is_thorough = env::var_os("ALL_BUDGETS").is_some();
    let count = if is_thorough { BUDGETS.len() } else { 1 };
    for budgets in &BUDGETS[..count] {
        let mut command = this_binary();
        command.env(POLL_BUDGET, budgets).env("RUST_BACKTRACE", "0");
        command.args(
            excluded
                .iter()
                .flat_map(|exclusion| ["--skip", exclusion.test]),
        );
        let output = run(&mut command);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains(&format!("test result: ok. {passed} passed")),
            "under {budgets}: {}, where {passed} tests should have passed\n{text}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        for test in racing {
            passes_in_the_end(test, Some(budgets));
        }
        println!("{budgets}: {} passed", passed + racing.len());
    }
    for exclusion in excluded {
        if is_thorough {
            assert_fails(exclusion);
        }
        println!(
            "skipped under budgets: {}, which {}",
            exclusion.test, exclusion.reason
        );
    }
}

/// Checks that a test passes in one of a few attempts. A test that a budget breaks fails every time, and a test in which two
/// clocks race passes sometimes.
fn passes_in_the_end(test: &str, budgets: Option<&str>) {
    let mut said = String::new();
    for _ in 0..ATTEMPTS {
        let mut command = this_binary();
        command
            .args(["--ignored", test])
            .envs(budgets.map(|budgets| (POLL_BUDGET, budgets)));
        let output = run(&mut command);
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && text.contains("test result: ok. 1 passed") {
            return;
        }
        said = text.into_owned();
    }
    panic!("with the budgets {budgets:?}, {test} failed {ATTEMPTS} times, at last:\n{said}");
}

/// Checks that an excluded test fails, or does not end, under one of the budgets. If it passes under all of them, it needs no
/// exclusion, or nothing was bounded.
fn assert_fails(exclusion: &Excluded) {
    let fails = |budgets: &&str| {
        let mut command = this_binary();
        command.env(POLL_BUDGET, budgets).env("RUST_BACKTRACE", "0");
        command.arg(exclusion.test).stderr(Stdio::null());
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("a test that runs can be run again");
        let began = Instant::now();
        while child.try_wait().is_ok_and(|status| status.is_none()) {
            if began.elapsed() > PATIENCE {
                return child.kill().is_ok() && child.wait().is_ok();
            }
            thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output().expect("it has ended");
        let text = String::from_utf8_lossy(&output.stdout);
        text.contains("test result: FAILED. 0 passed; 1 failed")
    };
    let test = exclusion.test;
    assert!(BUDGETS.iter().any(fails), "{test} is excluded, but passes");
}

/// Checks that this process has the budgets of its environment variable.
fn assert_in_force(budgets: &str) {
    let budgets: Budgets = budgets.parse().expect("the budgets are among those above");
    let cx = &mut Context::from_waker(Waker::noop());
    for site in Site::BUDGETED {
        let Some(Budget {
            limit: Limit::Count(limit),
            ..
        }) = budgets.at(site)
        else {
            panic!("{site} has no count in {budgets}");
        };
        let mut invocation = Invocation::enter(site.into(), &[]);
        let iterations = (0..=limit.get())
            .take_while(|_| invocation.iterate(cx).is_ready())
            .count();
        assert_eq!(
            iterations,
            limit.get() as usize,
            "iterations at {site} under {budgets}"
        );
    }
}

fn tests(which: &[&str]) -> BTreeSet<String> {
    let output = run(this_binary()
        .args(["--list", "--format", "terse"])
        .args(which));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect()
}

fn this_binary() -> Command {
    let path = env::current_exe().expect("the path of a running test is known");
    let mut command = Command::new(path);
    command.arg("--exact");
    command
}

fn run(command: &mut Command) -> Output {
    command.output().expect("a test that runs can be run again")
}
