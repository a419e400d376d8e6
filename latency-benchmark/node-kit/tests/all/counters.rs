//! Tests of counters in situations with known counts.
#![allow(unsafe_code, reason = "memory whose pages are surely new")]

use std::time::Duration;
use std::{ptr, thread};

use node_kit::profiler::Counters;

const ALWAYS: [&str; 4] = [
    "task_clock_ns",
    "context_switches",
    "page_faults_minor",
    "page_faults_major",
];

#[rustfmt::skip]
const ALL: [&str; 9] = [
    "cycles", "instructions", "cache_misses", "branches", "branch_misses", "task_clock_ns", "context_switches",
    "page_faults_minor", "page_faults_major",
];

fn read(counters: &Counters) -> Vec<u64> {
    let mut counts = vec![0; counters.names().len()];
    assert!(counters.read(&mut counts).is_some());
    counts
}

fn count_of(counters: &Counters, name: &str) -> u64 {
    let index = counters.names().iter().position(|known| known == name);
    read(counters)[index.unwrap()]
}

/// Writes to this number of new pages.
fn touch(pages: usize) {
    const BYTES: usize = 4096;
    let bytes = pages * BYTES;
    // SAFETY: the memory is new, written to within its bounds, and given back.
    unsafe {
        let memory = libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(memory, libc::MAP_FAILED);
        // A large page would save faults; a kernel without large pages does not know the advice.
        libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE);
        for page in 0..pages {
            memory.cast::<u8>().add(page * BYTES).write_volatile(1);
        }
        libc::munmap(memory, bytes);
    }
}

#[test]
fn each_event_is_counted_or_reported_with_a_reason() {
    let counters = Counters::for_this_thread();
    let base = |name: &str| name.trim_end_matches(":u").to_owned();
    let mut names: Vec<String> = counters.names().iter().map(|name| base(name)).collect();
    for missing in counters.unavailable() {
        assert!(!missing.why.is_empty());
        println!("{missing}");
        names.push(base(&missing.what));
    }
    names.sort();
    let mut all = ALL.map(str::to_owned);
    all.sort();
    assert_eq!(names, all);
    for name in ALWAYS {
        assert!(counters.names().iter().any(|known| known == name), "{name}");
    }
}

#[test]
fn page_faults_are_at_least_the_pages_written_to() {
    const PAGES: usize = 2000;
    let counters = Counters::for_this_thread();
    let before = count_of(&counters, "page_faults_minor");
    touch(PAGES);
    let faults = count_of(&counters, "page_faults_minor") - before;
    assert!(faults >= PAGES as u64, "{faults} of {PAGES}");
}

/// The same count from another source of the kernel.
fn context_switches() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let lines = text
        .lines()
        .filter(|line| line.contains("voluntary_ctxt_switches"));
    let numbers = lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    numbers.sum()
}

#[test]
fn context_switches_agree_with_the_status_file() {
    let counters = Counters::for_this_thread();
    let outer = context_switches();
    let before = count_of(&counters, "context_switches");
    let inner = context_switches();
    while context_switches() - inner < 20 {
        thread::sleep(Duration::from_millis(1));
    }
    let inner = context_switches() - inner;
    let switches = count_of(&counters, "context_switches") - before;
    let outer = context_switches() - outer;
    assert!(
        (inner..=outer).contains(&switches),
        "{inner}, {switches}, {outer}"
    );
}

#[test]
fn counts_are_those_of_one_thread() {
    const PAGES: usize = 2000;
    let counters = Counters::for_this_thread();
    let before = count_of(&counters, "page_faults_minor");
    thread::spawn(|| touch(PAGES)).join().unwrap();
    let faults = count_of(&counters, "page_faults_minor") - before;
    assert!(faults < PAGES as u64, "{faults}");
}

#[test]
fn the_counters_of_the_process_include_all_threads() {
    let counters = Counters::for_process();
    let names = counters.names().iter();
    assert!(
        names
            .clone()
            .all(|name| ALL.contains(&name.trim_end_matches(":u")))
    );
    assert!(
        ALWAYS
            .iter()
            .all(|name| names.clone().any(|known| known == name))
    );
    let read = |name: &str| {
        let mut counts = vec![0; counters.names().len()];
        assert!(counters.read(&mut counts).is_some());
        let index = counters.names().iter().position(|known| known == name);
        counts[index.unwrap()]
    };
    let (time, switches) = (read("task_clock_ns"), read("context_switches"));
    let thread = thread::spawn(|| {
        (0..20).for_each(|_| thread::sleep(Duration::from_millis(1)));
        context_switches()
    });
    let switches_of_thread = thread.join().unwrap();
    assert!(switches_of_thread > 0);
    assert!(read("context_switches") - switches >= switches_of_thread);
    assert!(read("task_clock_ns") > time);
}
