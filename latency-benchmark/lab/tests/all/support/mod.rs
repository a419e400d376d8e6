//! Shared by the tests of the lab: starts the binary, and checks what this machine supports.

#![allow(dead_code, reason = "each test uses some of it")]

use std::env;
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::process::{Command, Output};
use std::sync::OnceLock;

use lab::preflight::{Preflight, PreflightStatus};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};

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
    let output = command(&["preflight", "--json"])
        .output()
        .expect("the binary runs");
    let text = stdout(&output);
    let preflight: Preflight =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let has = match need {
        Need::Links => preflight.can_run_rtt_zero,
        Need::Delay => preflight.can_run_delayed,
        Need::Netem => is_ok(&preflight, "netem"),
        Need::Steering => lab::can_receive_on_receiver(),
    };
    let of_kernel = match need {
        Need::Netem => Some("netem"),
        Need::Steering => Some("net.core.rps_default_mask"),
        Need::Links | Need::Delay => None,
    };
    if let (false, Some(missing)) = (has, of_kernel) {
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
