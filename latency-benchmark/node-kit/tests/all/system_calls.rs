//! Tests that the calls of one thread are recorded, and that recording does not change their effects.
#![allow(unsafe_code, reason = "system calls whose number is known")]

use std::io::{Read, Write};
use std::os::fd::IntoRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use crate::support;
use crate::watched::{self, WatchedWorker, names, watched};
use node_kit::scope::{SystemCall, SystemCallRecorder};

#[test]
fn waiting_on_a_futex_and_waking_have_different_names() {
    let Some(mut watched) = WatchedWorker::start() else {
        return;
    };
    let word = std::sync::atomic::AtomicU32::new(0);
    let futex = move |operation: libc::c_int, value: u32| {
        let nobody_waits = std::ptr::null::<libc::timespec>();
        // SAFETY: the word is there, and a wait for another value than it has returns at once.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                operation | libc::FUTEX_PRIVATE_FLAG,
                value,
                nobody_waits,
            )
        }
    };
    watched.recorded(move || {
        futex(libc::FUTEX_WAIT, 1);
        futex(libc::FUTEX_WAKE, 1);
    });
    let calls = watched.drain();
    assert_eq!(names(&calls), ["futex_wait", "futex_wake"]);
}

#[test]
fn calls_are_recorded_in_order_with_names_results_and_times() {
    let Some(mut watched) = WatchedWorker::start() else {
        return;
    };
    let before = watched.now();
    watched.recorded(|| {
        let null = fs::OpenOptions::new()
            .write(true)
            .open("/dev/null")
            .unwrap();
        for bytes in 1..=3_usize {
            (&null).write_all(&[0; 3][..bytes]).unwrap();
        }
        // SAFETY: neither has preconditions.
        unsafe {
            assert!(libc::getppid() > 0);
            assert_eq!(libc::close(-1), -1);
            assert_eq!(
                std::io::Error::last_os_error().raw_os_error(),
                Some(libc::EBADF)
            );
            assert_eq!(libc::close(null.into_raw_fd()), 0);
        }
    });
    let after = watched.now();
    let calls = watched.drain();
    assert_eq!(
        names(&calls),
        [
            "openat", "write", "write", "write", "getppid", "close", "close"
        ]
    );
    let results: Vec<i64> = calls.iter().map(|call| call.result).collect();
    assert_eq!(results[1..4], [1, 2, 3]);
    assert_eq!(results[4], i64::from(std::os::unix::process::parent_id()));
    assert_eq!(results[5..], [-i64::from(libc::EBADF), 0]);
    let mut earliest = before;
    for call in &calls {
        assert!(call.at >= earliest, "{calls:?}");
        earliest = call.at + call.ns;
    }
    assert!(earliest <= after, "{calls:?}");
    assert_eq!(watched.lost(), 0);
}

#[test]
fn nothing_is_recorded_while_recording_is_off() {
    let Some(mut watched) = WatchedWorker::start() else {
        return;
    };
    watched.unrecorded(some_calls);
    assert_eq!(watched.drain(), []);
    watched.recorded(some_calls);
    assert_eq!(names(&watched.drain()), ["getppid", "getppid"]);
    watched.unrecorded(some_calls);
    assert_eq!(watched.drain(), []);
}

#[test]
fn calls_of_other_threads_are_not_recorded() {
    let Some(mut watched) = WatchedWorker::start() else {
        return;
    };
    let (is_on, is_done) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_on.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            some_calls();
            is_done.store(true, Ordering::Relaxed);
        });
        watched.recorded_scoped(&|| {
            is_on.store(true, Ordering::Relaxed);
            while !is_done.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
    });
    assert_eq!(watched.drain(), []);
}

#[test]
fn a_call_that_waits_takes_the_time_until_another_thread_wakes_it() {
    let Some(mut watched) = WatchedWorker::start() else {
        return;
    };
    let (mut reading, mut writing) = std::io::pipe().unwrap();
    let before = watched.now();
    let written = thread::scope(|scope| {
        let clock = watched.clock();
        let writer = scope.spawn(move || {
            thread::sleep(std::time::Duration::from_millis(20));
            let now = clock();
            writing.write_all(b"woken").unwrap();
            now
        });
        watched.recorded_scoped(&|| {
            let mut bytes = [0; 16];
            assert_eq!((&reading).read(&mut bytes).unwrap(), 5);
            assert_eq!(&bytes[..5], b"woken");
        });
        writer.join().unwrap()
    });
    let calls = watched.drain();
    assert_eq!(names(&calls), ["read"]);
    assert!(calls[0].at >= before);
    assert!(calls[0].at + calls[0].ns >= written, "{calls:?} {written}");
    assert_eq!(reading.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn files_threads_and_processes_work() {
    let Some(mut watched) = WatchedWorker::start() else {
        return;
    };
    watched.recorded(|| {
        let path = std::env::temp_dir().join(format!("node-kit-{}", std::process::id()));
        fs::write(&path, vec![7; 100_000]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), vec![7; 100_000]);
        fs::remove_file(&path).unwrap();
        let sums: Vec<u64> = (0..20)
            .map(|n| thread::spawn(move || (0..n).sum::<u64>()))
            .map(|child| child.join().unwrap())
            .collect();
        assert_eq!(sums[19], 171);
        let output = std::process::Command::new("echo")
            .arg("hello")
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"hello\n");
    });
    let calls = watched.drain();
    assert!(names(&calls).contains(&"unlink"), "{calls:?}");
    let written: i64 = calls
        .iter()
        .filter(|call| call.name() == "write" && call.result > 0)
        .map(|call| call.result)
        .sum();
    assert_eq!(written, 100_000);
}

#[test]
fn a_child_by_fork_runs_from_where_it_was_made() {
    let Some(watched) = WatchedWorker::start() else {
        return;
    };
    watched.recorded(|| assert_eq!(watched::exit_code_of_child(libc::SYS_fork, 7), 7));
}

#[test]
fn a_recording_that_paused_is_resumed_by_a_drain() {
    const PATIENCE: usize = 100_000;
    let Some(mut watched) = WatchedWorker::start() else {
        return;
    };
    watched.set_recording(true);
    watched.unrecorded(|| {
        assert_eq!(watched::exit_code_of_child(libc::SYS_fork, 7), 7);
        some_calls();
    });
    assert_eq!(watched.drain(), []);
    let resumed = (0..PATIENCE).find_map(|_| {
        watched.unrecorded(some_calls);
        Some(watched.drain()).filter(|calls| !calls.is_empty())
    });
    let calls = resumed.expect("it is resumed");
    assert!(names(&calls).iter().all(|name| *name == "getppid"));
}

#[test]
fn calls_without_room_are_counted_as_lost() {
    let Some(mut watched) = watched(4) else {
        return;
    };
    watched.recorded(|| (0..5).for_each(|_| some_calls()));
    assert_eq!(names(&watched.drain()), ["getppid"; 4]);
    assert_eq!(watched.lost(), 6);
    watched.recorded(some_calls);
    assert_eq!(names(&watched.drain()), ["getppid"; 2]);
    assert_eq!(watched.lost(), 6);
}

#[test]
fn a_thread_has_one_recorder_at_a_time() {
    let _alone = watched::alone();
    let first = support::available(SystemCallRecorder::arm_this_thread(8, || 0));
    let Some(mut first) = first else { return };
    let second = SystemCallRecorder::arm_this_thread(8, || 0).err().unwrap();
    assert!(second.to_string().contains("already"), "{second}");
    // It also works if the recorder is on the same thread.
    first.set_recording(true);
    some_calls();
    first.set_recording(false);
    let mut seen = Vec::new();
    first.drain(|call: &SystemCall| seen.push(*call));
    assert!(names(&seen).starts_with(&["getppid"; 2]), "{seen:?}");
    drop(first);
    let mut again = SystemCallRecorder::arm_this_thread(8, || 0).unwrap();
    again.set_recording(true);
    some_calls();
    again.set_recording(false);
    seen.clear();
    again.drain(|call| seen.push(*call));
    assert!(names(&seen).starts_with(&["getppid"; 2]), "{seen:?}");
}

#[test]
fn a_thread_may_end_while_it_is_recorded() {
    let _alone = watched::alone();
    let watched = thread::spawn(|| {
        let calls = support::available(SystemCallRecorder::arm_this_thread(4096, || 0))?;
        calls.set_recording(true);
        some_calls();
        Some(calls)
    });
    let Some(mut calls) = watched.join().unwrap() else {
        return;
    };
    let mut seen = Vec::new();
    calls.drain(|call| seen.push(*call));
    assert!(names(&seen).starts_with(&["getppid"; 2]), "{seen:?}");
    calls.set_recording(false);
    calls.set_recording(true);
    calls.drain(|call| panic!("the thread is gone: {call:?}"));
}

#[test]
fn the_overhead_is_measured() {
    let _alone = watched::alone();
    let Some(calls) = support::available(SystemCallRecorder::arm_this_thread(8, || 0)) else {
        return;
    };
    assert!(calls.overhead_ns() > 0);
    println!("{} ns per call", calls.overhead_ns());
}

#[test]
fn numbers_have_names() {
    for (number, name) in [
        (libc::SYS_epoll_wait, "epoll_wait"),
        (-1, "unknown"),
        (1 << 40, "unknown"),
    ] {
        let call = SystemCall {
            number,
            ..SystemCall::default()
        };
        assert_eq!(call.name(), name);
    }
}

fn some_calls() {
    for _ in 0..2 {
        // SAFETY: the call has no preconditions.
        assert!(unsafe { libc::getppid() } > 0);
    }
}
