//! If any process of `lab` dies, the rest of the lab is gone within two seconds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use lab::KillOnDrop;

use crate::bench::{Bench, can_run, can_run_by, kill, pid};
use crate::lab_verb::{as_nobody, end, lines, next};

const BOUND: Duration = Duration::from_secs(2);

/// The process that the test kills.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Outer,
    Init,
    Program,
    DelayLine,
}

#[test]
fn nothing_is_left_when_the_outer_process_is_killed() {
    nothing_is_left_after(Victim::Outer);
}

#[test]
fn nothing_is_left_when_the_first_inner_process_is_killed() {
    nothing_is_left_after(Victim::Init);
}

#[test]
fn nothing_is_left_when_the_program_is_killed() {
    nothing_is_left_after(Victim::Program);
}

#[test]
fn nothing_is_left_when_the_delay_line_is_killed() {
    nothing_is_left_after(Victim::DelayLine);
}

#[test]
fn nothing_is_left_when_the_outer_process_is_killed_while_it_wires() {
    if !can_run(false) {
        return;
    }
    // The wiring takes tens of milliseconds.
    for moment_ms in [1, 3, 10, 20, 40] {
        let bench = Bench::new();
        let wires = ["lab", "--peers", "15", "--", "sleep", "1000"];
        let mut outer = KillOnDrop {
            child: bench.command(&wires).spawn().unwrap(),
        };
        thread::sleep(Duration::from_millis(moment_ms));
        outer.child.kill().unwrap();
        end(&mut outer.child);
        assert_gone(&bench, &BTreeSet::new());
    }
}

fn nothing_is_left_after(victim: Victim) {
    die(victim, |bench, arguments| Some(bench.command(arguments)));
    die(victim, as_nobody);
}

/// `command` returns the program with arguments as some user, or None if the test may not become that user.
fn die(victim: Victim, command: impl Fn(&Bench, &[&str]) -> Option<Command>) {
    let bench = Bench::new();
    let is_delayed = victim == Victim::DelayLine;
    let Some(preflight) = command(&bench, &["preflight"]) else {
        return;
    };
    if !can_run_by(preflight, is_delayed) {
        return;
    }
    let rtt = if is_delayed { "100" } else { "0" };
    let links = ["lab", "--peers", "3", "--rtt", rtt, "--delay", "nfqueue"];
    let peers = ["--peer-command", "sleep 1000", "--"];
    let central = ["sh", "-c", "echo started; sleep 1000"];
    let lab = command(&bench, &[&links[..], &peers, &central].concat());
    // The process is killed even if the test fails.
    let mut outer = KillOnDrop {
        child: lab.unwrap().spawn().unwrap(),
    };
    let said = lines(outer.child.stdout.take().unwrap());
    let errors = lines(outer.child.stderr.take().unwrap());
    assert_eq!(next(&said).as_deref(), Some("started"));

    let processes = bench.processes();
    assert!(processes.len() >= 7, "four sleep, and three supervise");
    let own = namespace(i32::try_from(std::process::id()).unwrap());
    let seen = processes.iter().flat_map(|(pid, _)| namespaces_of(*pid));
    let namespaces: BTreeSet<PathBuf> = seen
        .filter(|namespace| Some(namespace) != own.as_ref())
        .collect();
    assert!(namespaces.len() >= 4, "central's and three peers'");

    kill(find(victim, pid(&outer.child), &processes));
    assert!(!end(&mut outer.child).success());
    assert_gone(&bench, &namespaces);
    if is_delayed {
        let errors: Vec<String> = errors.iter().collect();
        let expected = "the delay line was killed by signal 9, so no packet gets through any more";
        assert!(
            errors.iter().any(|line| line.contains(expected)),
            "{errors:?}"
        );
    }
}

fn find(victim: Victim, outer: i32, processes: &[(i32, String)]) -> i32 {
    let child_of = |parent: i32| {
        let mut pids = processes.iter().map(|(pid, _)| *pid);
        pids.find(|pid| parent_of(*pid) == Some(parent)).unwrap()
    };
    match victim {
        Victim::Outer => outer,
        Victim::Init => child_of(outer),
        Victim::Program => child_of(child_of(outer)),
        Victim::DelayLine => {
            let mut found = processes
                .iter()
                .filter(|(_, command)| command.ends_with("delay-line "));
            found.next().expect("the links have a delay").0
        }
    }
}

/// Panics unless all processes and namespaces are gone in time. A zombie counts as gone: the process that adopted it is not
/// part of the test.
fn assert_gone(bench: &Bench, namespaces: &BTreeSet<PathBuf>) {
    let deadline = Instant::now() + BOUND;
    loop {
        let alive = bench.processes();
        let holds = |pid: &i32| {
            namespaces_of(*pid)
                .iter()
                .any(|held| namespaces.contains(held))
        };
        let holding: Vec<i32> = all_processes().filter(holds).collect();
        if alive.is_empty() && holding.is_empty() {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "after {BOUND:?}, {alive:?} are alive and {holding:?} hold namespaces"
        );
        thread::yield_now();
    }
    for link in ["c1", "e0"] {
        assert!(!Path::new("/sys/class/net").join(link).exists());
    }
}

/// Processes without the mark of a test may hold its namespaces, too.
fn all_processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// The parent. It follows a name, which may contain any character.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

/// The network namespaces in which a process is, and which it holds open.
fn namespaces_of(pid: i32) -> Vec<PathBuf> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
    let open = descriptors.into_iter().flatten().flatten();
    let targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    let held = targets.filter(|target| target.to_string_lossy().starts_with("net:"));
    held.chain(namespace(pid)).collect()
}

fn namespace(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}
