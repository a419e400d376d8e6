//! If any process of a lab dies, the rest of the lab is gone within two seconds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::support::{Need, end, has, lab, lab_as_nobody, lines, next, rest};
use lab::Reaped;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

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
    if !has(Need::Links, lab) {
        return;
    }
    // The wiring takes tens of milliseconds.
    for moment_ms in [1, 3, 10, 20, 40] {
        let mut outer = spawn(lab(&["run", "--peers", "15", "--", "sleep", "1000"]));
        let moment = Instant::now() + Duration::from_millis(moment_ms);
        let mut seen = BTreeSet::new();
        while Instant::now() < moment {
            seen.extend(descendants(outer.child.id()));
        }
        seen.extend(descendants(outer.child.id()));
        outer.child.kill().expect("it runs");
        end(&mut outer.child);
        assert_gone(&seen, &BTreeSet::new());
    }
}

fn nothing_is_left_after(victim: Victim) {
    die(victim, lab);
    if lab_as_nobody(&[]).is_some() {
        die(victim, |arguments| {
            lab_as_nobody(arguments).expect("the user of the test is root")
        });
    }
}

fn die(victim: Victim, command: impl Fn(&[&str]) -> Command) {
    let (need, rtt) = match victim {
        Victim::DelayLine => (Need::Delay, "100"),
        _ => (Need::Links, "0"),
    };
    if !has(need, &command) {
        return;
    }
    let mut outer = spawn(command(&[
        "run",
        "--peers",
        "3",
        "--rtt",
        rtt,
        "--delay",
        "nfqueue",
        "--peer-command",
        "sleep 1000",
        "--",
        "sh",
        "-c",
        "echo started; sleep 1000",
    ]));
    let said = lines(outer.child.stdout.take().expect("it is piped"));
    let first = next(&said);
    assert_eq!(first.as_deref(), Some("started"), "{}", errors(&mut outer));

    let processes = descendants(outer.child.id());
    assert!(processes.len() >= 6, "three sleep, and three supervise");
    let own = namespace(std::process::id());
    let mut namespaces: BTreeSet<PathBuf> =
        processes.iter().filter_map(|pid| namespace(*pid)).collect();
    namespaces.extend(processes.iter().flat_map(|pid| held_namespaces(*pid)));
    namespaces.retain(|namespace| Some(namespace) != own.as_ref());
    assert!(namespaces.len() >= 4, "central's and three peers'");

    let victim_pid = find(victim, outer.child.id(), &processes);
    let pid = i32::try_from(victim_pid).expect("a process id is an int");
    kill(Pid::from_raw(pid), Signal::SIGKILL).expect("it runs");
    assert!(!end(&mut outer.child).success());
    assert_gone(&processes, &namespaces);
    if victim == Victim::DelayLine {
        let errors = errors(&mut outer);
        assert!(
            errors.contains(
                "the delay line was killed by signal 9, so no packet gets through any more"
            ),
            "{errors}"
        );
    }
}

/// The process is killed even if the test fails.
fn spawn(mut command: Command) -> Reaped {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Reaped {
        child: command.spawn().expect("the binary runs"),
    }
}

/// What the outer process has printed to stderr. It is ended if it still runs.
fn errors(outer: &mut Reaped) -> String {
    let _ = outer.child.kill();
    outer.child.stderr.take().map(rest).unwrap_or_default()
}

fn find(victim: Victim, outer: u32, processes: &BTreeSet<u32>) -> u32 {
    let child_of = |parent: u32| {
        let mut children = processes.iter().copied();
        children.find(|pid| parent_of(*pid) == Some(parent))
    };
    let init = || child_of(outer).expect("the outer process has one child");
    match victim {
        Victim::Outer => outer,
        Victim::Init => init(),
        Victim::Program => child_of(init()).expect("the first inner process has one child"),
        Victim::DelayLine => processes
            .iter()
            .copied()
            .find(|pid| arguments_of(*pid).ends_with("delay-line\0"))
            .expect("the links have a delay"),
    }
}

/// Panics unless all processes and namespaces are gone in time. A zombie counts as gone: the process that
/// adopted it is not part of the test.
fn assert_gone(processes: &BTreeSet<u32>, namespaces: &BTreeSet<PathBuf>) {
    let deadline = Instant::now() + BOUND;
    loop {
        let alive: Vec<u32> = processes
            .iter()
            .copied()
            .filter(|pid| is_alive(*pid))
            .collect();
        let held: Vec<u32> = all_processes()
            .filter(|pid| {
                namespace(*pid).is_some_and(|namespace| namespaces.contains(&namespace))
                    || held_namespaces(*pid).any(|namespace| namespaces.contains(&namespace))
            })
            .collect();
        if alive.is_empty() && held.is_empty() {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "after {BOUND:?}, {alive:?} are alive and {held:?} hold namespaces"
        );
        thread::yield_now();
    }
    for link in ["c1", "e0"] {
        assert!(!Path::new("/sys/class/net").join(link).exists());
    }
}

fn all_processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// All descendants of `pid`.
fn descendants(pid: u32) -> BTreeSet<u32> {
    let parents: Vec<(u32, u32)> = all_processes()
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let mut found = BTreeSet::new();
    let mut unexplored = vec![pid];
    while let Some(parent) = unexplored.pop() {
        let children = parents.iter().filter(|(_, known)| *known == parent);
        for (child, _) in children {
            if found.insert(*child) {
                unexplored.push(*child);
            }
        }
    }
    found
}

/// The state and the parent. They follow a name, which may contain any character.
fn stat(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

fn parent_of(pid: u32) -> Option<u32> {
    stat(pid).map(|(_, parent)| parent)
}

fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != "Z" && state != "X")
}

fn arguments_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

fn namespace(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

fn held_namespaces(pid: u32) -> impl Iterator<Item = PathBuf> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    descriptors
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| target.to_string_lossy().starts_with("net:"))
}
