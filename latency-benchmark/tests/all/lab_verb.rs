//! The verbs `lab` and `preflight`, as root and as an ordinary user.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use lab::{KillOnDrop, Topology};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::Signal;
use nix::unistd::geteuid;
use program::wait_within;
use tempfile::TempDir;

use crate::bench::{
    Bench, PROGRAM, can_run, can_run_by, finish, lacks_nothing, pid, signal, text,
    with_default_signals, write_program,
};

/// A machine that is busy or emulated takes its time. What takes longer has no end.
const PATIENCE: Duration = Duration::from_secs(600);

/// Waits for the end of a child. Panics if that does not come.
pub(crate) fn end(child: &mut Child) -> ExitStatus {
    wait_within(child, PATIENCE)
        .unwrap()
        .expect("it ends in time")
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
    lines.recv_timeout(PATIENCE).ok()
}

/// The program as a user without any rights. None if the test does not run as root.
pub(crate) fn as_nobody(bench: &Bench, arguments: &[&str]) -> Option<Command> {
    if !geteuid().is_root() {
        return None;
    }
    let mut command = with_default_signals();
    command.args([
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ]);
    command.arg(program_for_everyone()).args(arguments);
    bench.prepare(&mut command);
    Some(command)
}

/// The path of the program through a file descriptor that all children inherit. Other users may lack access to the folders of
/// the program.
fn program_for_everyone() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let file = File::open(PROGRAM).unwrap();
        fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        format!("/proc/self/fd/{}", file.into_raw_fd())
    })
}

/// Runs a command to its end.
fn run(mut command: Command) -> Output {
    finish(command.spawn().unwrap())
}

/// The one line that a command with exit code 1 prints.
fn error_of(command: Command) -> String {
    let output = run(command);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "more than a line: {error}");
    error
}

#[test]
fn the_commands_exit_status_is_passed_out() {
    if !can_run(false) {
        return;
    }
    let bench = Bench::new();
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 128 + 9)] {
        let output = run(bench.command(&["lab", "--", "sh", "-c", script]));
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    }
}

#[test]
fn a_command_sees_its_own_network_and_the_peers_addresses() {
    if !can_run(false) {
        return;
    }
    let script = "cat /proc/net/dev; echo $LAB_PEER_1 $LAB_PEER_2 $LAB_PEER_3.";
    let shell = ["lab", "--peers", "2", "--", "sh", "-c", script];
    let output = run(Bench::new().command(&shell));
    let seen = text(&output.stdout);
    let before_colon = seen.lines().filter_map(|line| line.split_once(':'));
    let mut interfaces: Vec<&str> = before_colon.map(|(name, _)| name.trim()).collect();
    interfaces.sort_unstable();
    assert_eq!(interfaces, ["c1", "c2", "lo"]);
    assert!(seen.ends_with("10.53.1.2 10.53.2.2 .\n"), "{seen}");
}

#[test]
fn central_and_peers_run_on_the_cores_of_the_placement() {
    if !can_run(false) {
        return;
    }
    let placement = Topology::for_this_process()
        .unwrap()
        .place(1, None)
        .unwrap();
    let bench = Bench::new();
    // The peer's command ends central's command by its process id: all processes share a process table.
    let where_am_i = "grep Cpus_allowed_list /proc/self/status";
    let central = run(bench.command(&["lab", "--", "sh", "-c", where_am_i]));
    assert_eq!(
        text(&central.stdout).split_whitespace().last(),
        Some(placement.central.to_string().as_str())
    );
    let script = format!("{where_am_i}; kill -TERM $(cat /proc/$$/stat | cut -d' ' -f4)");
    let waits = ["lab", "--peer-command", &script, "--", "sleep", "1000"];
    let peer = run(bench.command(&waits));
    assert_eq!(
        text(&peer.stdout).split_whitespace().last(),
        Some(placement.peers.to_string().as_str())
    );
}

#[test]
fn orphans_are_reaped() {
    if !can_run(false) {
        return;
    }
    let script = "orphan=$(sh -c 'sleep 0.1 >/dev/null & echo $!'); \
        while [ -e /proc/$orphan ]; do :; done; echo reaped";
    let output = run(Bench::new().command(&["lab", "--", "sh", "-c", script]));
    assert_eq!(text(&output.stdout), "reaped\n");
}

#[test]
fn signals_to_the_outer_process_reach_the_command_which_decides() {
    if !can_run(false) {
        return;
    }
    let bench = Bench::new();
    for (sent, name) in [(Signal::SIGTERM, "TERM"), (Signal::SIGINT, "INT")] {
        let script =
            format!("trap 'echo decided; exit 9' {name}; echo started; while :; do :; done");
        let mut outer = KillOnDrop {
            child: bench
                .command(&["lab", "--", "sh", "-c", &script])
                .spawn()
                .unwrap(),
        };
        let said = lines(outer.child.stdout.take().unwrap());
        assert_eq!(next(&said).as_deref(), Some("started"));
        signal(pid(&outer.child), sent);
        assert_eq!(next(&said).as_deref(), Some("decided"));
        assert_eq!(end(&mut outer.child).code(), Some(9));
    }
}

#[test]
fn an_ordinary_user_has_links_and_delay_as_root_has() {
    let bench = Bench::new();
    let command = |arguments: &[&str]| {
        as_nobody(&bench, arguments).unwrap_or_else(|| bench.command(arguments))
    };
    if !can_run_by(command(&["preflight"]), true) {
        return;
    }
    let id = ["lab", "--peers", "3", "--rtt", "100", "--", "id", "-u"];
    let output = run(command(&id));
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(text(&output.stdout), "0\n");
    assert!(errors.contains("10.53.3.2"), "{errors}");
}

#[test]
fn without_iptables_and_netem_the_error_names_the_package() {
    if !can_run(false) {
        return;
    }
    let (bench, tools) = (Bench::new(), Tools::new().with("ip").with("tc"));
    let delayed = ["lab", "--delay", "nfqueue", "--rtt", "5", "--", "true"];
    let error = error_of(tools.used_by(bench.command(&delayed)));
    assert!(error.contains("`iptables` was not found"), "{error}");
    assert!(error.contains("apt-get install -y iptables"), "{error}");
    let undelayed = run(tools.used_by(bench.command(&["lab", "--", "true"])));
    assert!(undelayed.status.success(), "{}", text(&undelayed.stderr));
}

#[test]
fn without_ip_the_error_names_the_package() {
    if !can_run(false) {
        return;
    }
    let without_delay = Bench::new().command(&["lab", "--", "true"]);
    let error = error_of(Tools::new().used_by(without_delay));
    assert!(error.contains("apt-get install -y iproute2"), "{error}");
}

#[test]
fn each_variant_of_iptables_works() {
    if !can_run(true) {
        return;
    }
    let bench = Bench::new();
    for variant in ["iptables-nft", "iptables-legacy"] {
        if !lacks_nothing([variant].into_iter().filter(|name| !Tools::has(name))) {
            continue;
        }
        let tools = Tools::new().with("ip").with("tc").with(variant);
        let preflight = text(&run(tools.used_by(bench.command(&["preflight"]))).stdout);
        let mut findings = preflight.lines().map(str::split_whitespace);
        let works = findings.any(|words| words.take(3).eq(["ok", "iptables,", "NFQUEUE"]));
        if !lacks_nothing((!works).then_some(variant).into_iter()) {
            continue;
        }
        let delayed = ["lab", "--delay", "nfqueue", "--rtt", "100", "--", "true"];
        let output = run(tools.used_by(bench.command(&delayed)));
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

/// This `tc` does nothing and reports no error.
#[test]
fn a_missing_delay_makes_the_lab_invalid() {
    if !can_run(false) {
        return;
    }
    let tools = Tools::new().with("ip");
    write_program(&tools.0.path().join("tc"), "#!/bin/sh\ncat > /dev/null\n");
    let delayed = [
        "lab", "--peers", "2", "--delay", "netem", "--rtt", "50", "--", "true",
    ];
    let output = run(tools.used_by(Bench::new().command(&delayed)));
    assert_eq!(output.status.code(), Some(1));
    let errors = text(&output.stderr);
    let error = errors.lines().last().unwrap_or_default();
    assert!(
        error.contains("the lab is invalid: link to peer 1: asked for 50 ms, measured "),
        "{error}"
    );
}

#[test]
fn preflight_reports_all_missing_programs_at_once() {
    let output = run(Tools::new().used_by(Bench::new().command(&["preflight"])));
    assert_eq!(output.status.code(), Some(1), "no cell could run");
    let said = text(&output.stdout);
    for expected in [
        "`ip` was not found",
        "`tc` was not found",
        "`iptables` was not found",
        "apt-get install -y iproute2",
        "apt-get install -y iptables",
        "cells without a delay (RTT 0) CANNOT run",
        "cells with a delay CANNOT run",
        "no cell can run, but `./sweep.sh --gate` can",
        "`./sweep.sh --gate` can run, because it counts inside one process",
    ] {
        assert!(said.contains(expected), "{expected:?} is not in\n{said}");
    }
}

/// A folder of programs that replaces the machine's folders.
pub(crate) struct Tools(TempDir);

impl Tools {
    pub(crate) fn new() -> Tools {
        Tools(tempfile::tempdir().unwrap())
    }

    fn find(name: &str) -> Option<PathBuf> {
        let folders = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
        let mut paths = folders.iter().map(|folder| Path::new(folder).join(name));
        paths.find(|path| path.exists())
    }

    fn has(name: &str) -> bool {
        Tools::find(name).is_some()
    }

    pub(crate) fn with(self, name: &str) -> Tools {
        let original = Tools::find(name).expect("links need it");
        symlink(original, self.0.path().join(name)).unwrap();
        self
    }

    pub(crate) fn used_by(&self, mut command: Command) -> Command {
        command.env("LAB_TOOLS", self.0.path());
        command
    }
}
