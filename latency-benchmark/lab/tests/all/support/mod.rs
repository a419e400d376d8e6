//! Shared by the tests of the lab: starts the binary, and checks what this machine supports.

#![allow(dead_code, reason = "each test uses some of it")]

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::IntoRawFd;
use std::process::{Child, Command, ExitStatus, Output};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{env, thread};

use lab::preflight::{Preflight, PreflightStatus};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use program::{Limits, wait_within};

/// A machine that is busy or emulated takes its time. A command that takes longer has no end.
const PATIENCE: Limits = Limits {
    time: Duration::from_secs(600),
    bytes: 1 << 20,
};

/// Runs a command to its end. Panics if that does not come.
pub(crate) fn output(mut command: Command) -> Output {
    let output = PATIENCE.output(&mut command);
    output.unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Waits for the end of a child. Panics if that does not come.
pub(crate) fn end(child: &mut Child) -> ExitStatus {
    let status = wait_within(child, PATIENCE.time).expect("it is ours");
    status.expect("it ends in time")
}

/// Reads lines in a thread of its own, so that a test can wait for each of them with [`next`].
pub(crate) fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(pipe).lines().map_while(Result::ok);
        lines
            .map_while(|line| sender.send(line).ok())
            .for_each(drop);
    });
    receiver
}

/// The next line, or nothing if there is none in time.
pub(crate) fn next(lines: &Receiver<String>) -> Option<String> {
    lines.recv_timeout(PATIENCE.time).ok()
}

/// The rest of the lines, which end when nobody can write to the pipe any more. Panics if that does not happen.
pub(crate) fn rest(pipe: impl Read + Send + 'static) -> String {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        let read = BufReader::new(pipe).read_to_string(&mut text);
        sender.send(read.map(|_| text))
    });
    let text = receiver.recv_timeout(PATIENCE.time);
    text.expect("the pipe ends in time").expect("it is text")
}

/// Runs the binary as the user of the test.
pub(crate) fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments);
    command
}

/// Runs the binary as a user without any rights. `None` if the test does not run as root.
pub(crate) fn lab_as_nobody(arguments: &[&str]) -> Option<Command> {
    if !nix::unistd::geteuid().is_root() {
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(binary_for_everyone()).args(arguments);
    Some(command)
}

/// The path of the binary through a file descriptor that all children inherit. Other users may lack access to
/// the directories of the binary.
fn binary_for_everyone() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let file = File::open(env!("CARGO_BIN_EXE_lab")).expect("the binary is there");
        fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty())).expect("it is open");
        format!("/proc/self/fd/{}", file.into_raw_fd())
    })
}

/// A feature of the machine that a test needs.
#[derive(Clone, Copy)]
pub(crate) enum Need {
    /// Namespaces and links.
    Links,
    /// Links, and netem or the delay line.
    Delay,
    /// Links, and netem. It depends on the kernel alone, so it may be missing in CI too.
    Netem,
    /// Links, and packets received on the receiver's cores. It depends on the kernel alone too.
    Steering,
}

/// Whether this machine has what the test needs. If not, the test prints this and passes; in CI it fails.
pub(crate) fn has(need: Need, command: impl Fn(&[&str]) -> Command) -> bool {
    let text = stdout(&output(command(&["preflight", "--json"])));
    let preflight: Preflight =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let has = match need {
        Need::Links => preflight.can_run_rtt_zero,
        Need::Delay => preflight.can_run_delayed,
        Need::Netem => is_ok(&preflight, "netem"),
        Need::Steering => lab::can_receive_on_receiver(),
    };
    let missing_in_kernel = match need {
        Need::Netem => Some("netem"),
        Need::Steering => Some("net.core.rps_default_mask"),
        Need::Links | Need::Delay => None,
    };
    if let (false, Some(missing)) = (has, missing_in_kernel) {
        println!("skipped: missing {missing} in this kernel");
    } else if !has {
        let missing: Vec<String> = preflight
            .findings
            .iter()
            .filter(|finding| finding.status == PreflightStatus::Missing)
            .map(|finding| format!("{} ({})", finding.name, finding.seen))
            .collect();
        skip(&missing.join(", "));
    }
    has
}

/// Whether the finding of that name has no problem.
pub(crate) fn is_ok(preflight: &Preflight, name: &str) -> bool {
    let mut findings = preflight.findings.iter();
    findings.any(|finding| finding.name == name && finding.status == PreflightStatus::Ok)
}

/// Prints why a test is skipped. Panics in CI.
pub(crate) fn skip(why: &str) {
    let in_ci = env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "in CI nothing may be missing: {why}");
    println!("skipped: missing {why}");
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
