//! Tests that a spinner uses time only while spinning is on, and only with idle priority.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use node_kit::scope::Spinner;

/// Both tests have threads of the same name.
static ALONE: Mutex<()> = Mutex::new(());

/// The folder in `/proc` of this process's thread with that name.
fn thread_named(name: &str, is_it: impl Fn(&PathBuf) -> bool) -> Option<PathBuf> {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    threads
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name))
        .find(is_it)
}

/// CPU time in nanoseconds.
fn cpu_ns(thread: &std::path::Path) -> u64 {
    let text = fs::read_to_string(thread.join("schedstat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// A field of `stat`, counted from 1.
fn stat(thread: &std::path::Path, field: usize) -> u64 {
    let text = fs::read_to_string(thread.join("stat")).unwrap();
    let (_, after_name) = text.rsplit_once(')').unwrap();
    let mut fields = after_name.split_whitespace().skip(field - 3);
    fields.next().unwrap().parse().unwrap()
}

fn status(thread: &std::path::Path, name: &str) -> String {
    let text = fs::read_to_string(thread.join("status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim().to_owned()
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not within a minute");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_spinner_spins_only_while_spinning_is_on_and_ends_when_dropped() {
    const SCHED_IDLE: u64 = 5;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let allowed = status(std::path::Path::new("/proc/self"), "Cpus_allowed_list:");
    let core: usize = allowed
        .split(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let spinner = Spinner::start(core).unwrap();
    let is_idle = |thread: &PathBuf| stat(thread, 41) == SCHED_IDLE;
    let thread = thread_named("spinner", is_idle).unwrap();
    assert_eq!(status(&thread, "Cpus_allowed_list:"), core.to_string());

    for _ in 0..2 {
        eventually("parked", || status(&thread, "State:").starts_with('S'));
        let parked_ns = cpu_ns(&thread);
        thread::sleep(Duration::from_millis(50));
        assert_eq!(cpu_ns(&thread), parked_ns);
        spinner.set_spinning(true);
        eventually("spinning", || cpu_ns(&thread) > parked_ns + 5_000_000);
        spinner.set_spinning(false);
    }

    spinner.set_spinning(true);
    drop(spinner);
    eventually("stopped", || !thread.exists());
}

#[test]
fn the_error_of_a_missing_core_contains_its_number() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for core in [1000, 1 << 20] {
        let missing = Spinner::start(core).err().unwrap();
        assert!(
            missing.to_string().contains(&format!("core {core}")),
            "{missing}"
        );
    }
}
