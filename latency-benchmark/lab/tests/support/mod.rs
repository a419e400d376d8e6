//! What the tests of a lab share: the binary, as whom it runs, and what this machine lacks.

#![allow(dead_code, reason = "each test takes what it needs of this")]

use std::{
    env,
    fs::File,
    os::fd::IntoRawFd,
    process::{Command, Output},
    sync::OnceLock,
};

use lab::preflight::{Preflight, Status};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// Runs the binary as the user of the test.
pub(crate) fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments);
    command
}

/// Runs the binary as a user without any rights. `None` if the user of the test is such a user.
pub(crate) fn lab_as_nobody(arguments: &[&str]) -> Option<Command> {
    if !nix::unistd::geteuid().is_root() {
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(binary_for_everyone()).args(arguments);
    Some(command)
}

/// The binary by a descriptor that all children inherit, since the directories on the way to it may
/// be closed to others.
fn binary_for_everyone() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let file = File::open(env!("CARGO_BIN_EXE_lab")).expect("the binary is there");
        fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty())).expect("it is open");
        format!("/proc/self/fd/{}", file.into_raw_fd())
    })
}

/// What a test needs of the machine.
#[derive(Clone, Copy)]
pub(crate) enum Need {
    /// Namespaces and links.
    Links,
    /// Those, and a way to delay packets.
    Delay,
    /// Those, and netem, which a kernel has or has not: nothing can be installed. So this one may be
    /// missing in CI too.
    Netem,
}

/// Whether this machine has what the test needs. Without it the test says so and passes, but in CI,
/// where a test that silently did nothing would be worse than one that fails.
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
    };
    if !has && matches!(need, Need::Netem) {
        println!("skipped: missing netem in this kernel");
    } else if !has {
        let missing: Vec<String> = preflight
            .findings
            .iter()
            .filter(|finding| finding.status == Status::Missing)
            .map(|finding| format!("{} ({})", finding.name, finding.seen))
            .collect();
        skip(&missing.join(", "));
    }
    has
}

/// Whether the finding of that name is a good one.
pub(crate) fn is_ok(preflight: &Preflight, name: &str) -> bool {
    let mut findings = preflight.findings.iter();
    findings.any(|finding| finding.name == name && finding.status == Status::Ok)
}

/// Says why a test does nothing; in CI, fails it.
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
