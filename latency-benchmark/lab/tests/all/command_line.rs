//! Tests of the binary, as root and as an ordinary user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::{
    Need, end, has, is_ok, lab, lab_as_nobody, lines, next, output, skip, stderr, stdout,
};
use lab::Reaped;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The one line that a command with this exit code prints.
fn error_of(command: Command, code: i32) -> String {
    let output = output(command);
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    let error = stderr(&output);
    assert_eq!(error.lines().count(), 1, "more than a line: {error}");
    error
}

#[test]
fn the_commands_exit_status_is_passed_out() {
    if !has(Need::Links, lab) {
        return;
    }
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 128 + 9)] {
        let output = output(lab(&["run", "--", "sh", "-c", script]));
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    }
}

#[test]
fn a_command_sees_its_own_network_and_the_peers_addresses() {
    if !has(Need::Links, lab) {
        return;
    }
    let script = "cat /proc/net/dev; echo $LAB_PEER_1 $LAB_PEER_2 $LAB_PEER_3.";
    let output = output(lab(&["run", "--peers", "2", "--", "sh", "-c", script]));
    let seen = stdout(&output);
    let interfaces = seen.lines().filter_map(|line| line.split_once(':'));
    let mut interfaces: Vec<&str> = interfaces.map(|(name, _)| name.trim()).collect();
    interfaces.sort_unstable();
    assert_eq!(interfaces, ["c1", "c2", "lo"]);
    assert!(seen.ends_with("10.53.1.2 10.53.2.2 .\n"), "{seen}");
}

#[test]
fn central_and_peers_run_on_the_cores_of_the_placement() {
    if !has(Need::Links, lab) {
        return;
    }
    let topology = lab::Topology::for_this_process().expect("a machine with cores");
    let placement = topology.place(1, None).expect("at least one core");
    // The peer's command ends central's command by its process id: all processes share a process table.
    let where_am_i = "grep Cpus_allowed_list /proc/self/status";
    let central = output(lab(&["run", "--", "sh", "-c", where_am_i]));
    assert_eq!(
        stdout(&central).split_whitespace().last(),
        Some(placement.central.to_string().as_str())
    );
    let peer = format!("{where_am_i}; kill -TERM $(cat /proc/$$/stat | cut -d' ' -f4)");
    let waits = ["run", "--peer-command", &peer, "--", "sleep", "1000"];
    let peer = output(lab(&waits));
    assert_eq!(
        stdout(&peer).split_whitespace().last(),
        Some(placement.peers.to_string().as_str())
    );
}

#[test]
fn orphans_are_reaped() {
    if !has(Need::Links, lab) {
        return;
    }
    let script = "orphan=$(sh -c 'sleep 0.1 >/dev/null & echo $!'); \
        while [ -e /proc/$orphan ]; do :; done; echo reaped";
    let output = output(lab(&["run", "--", "sh", "-c", script]));
    assert_eq!(stdout(&output), "reaped\n");
}

#[test]
fn signals_to_the_outer_process_reach_the_command_which_decides() {
    if !has(Need::Links, lab) {
        return;
    }
    for (signal, name) in [(Signal::SIGTERM, "TERM"), (Signal::SIGINT, "INT")] {
        let script =
            format!("trap 'echo decided; exit 9' {name}; echo started; while :; do :; done");
        // A shell cannot trap a signal that its parent ignored. In the background of a script SIGINT is
        // ignored.
        let shell = ["env", "--default-signal", "sh", "-c", &script];
        let mut command = lab(&[&["run", "--"][..], &shell].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut outer = Reaped {
            child: command.spawn().expect("the binary runs"),
        };
        let said = lines(outer.child.stdout.take().expect("it is piped"));
        assert_eq!(next(&said).as_deref(), Some("started"));
        let pid = i32::try_from(outer.child.id()).expect("a process id is an int");
        kill(Pid::from_raw(pid), signal).expect("it runs");
        assert_eq!(next(&said).as_deref(), Some("decided"));
        assert_eq!(end(&mut outer.child).code(), Some(9));
    }
}

#[test]
fn an_ordinary_user_has_links_and_delay_as_root_has() {
    let as_nobody = |arguments: &[&str]| lab_as_nobody(arguments).unwrap_or_else(|| lab(arguments));
    if !has(Need::Delay, as_nobody) {
        return;
    }
    let command = ["run", "--peers", "3", "--rtt", "100", "--", "id", "-u"];
    let output = output(as_nobody(&command));
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "0\n");
    assert!(stderr(&output).contains("10.53.3.2"), "{}", stderr(&output));
}

#[test]
fn without_iptables_and_netem_the_error_names_the_package() {
    if !has(Need::Links, lab) {
        return;
    }
    let tools = Tools::new("no-iptables").with("ip").with("tc");
    let delayed = ["run", "--delay", "nfqueue", "--rtt", "5", "--", "true"];
    let error = error_of(tools.used_by(lab(&delayed)), 1);
    assert!(error.contains("`iptables` was not found"), "{error}");
    assert!(error.contains("apt-get install -y iptables"), "{error}");
    let undelayed = output(tools.used_by(lab(&["run", "--", "true"])));
    assert!(undelayed.status.success(), "{}", stderr(&undelayed));
}

#[test]
fn without_ip_the_error_names_the_package() {
    if !has(Need::Links, lab) {
        return;
    }
    let error = error_of(Tools::new("no-ip").used_by(lab(&["run", "--", "true"])), 1);
    assert!(error.contains("apt-get install -y iproute2"), "{error}");
}

#[test]
fn each_variant_of_iptables_works() {
    if !has(Need::Delay, lab) {
        return;
    }
    for variant in ["iptables-nft", "iptables-legacy"] {
        if !Tools::has(variant) {
            skip(variant);
            continue;
        }
        let tools = Tools::new(variant).with("ip").with("tc").with(variant);
        let preflight = output(tools.used_by(lab(&["preflight", "--json"])));
        let preflight: lab::preflight::Preflight =
            serde_json::from_slice(&preflight.stdout).expect("it is JSON");
        if !is_ok(&preflight, "iptables, NFQUEUE") {
            skip(&format!("support of {variant} by the kernel"));
            continue;
        }
        let delayed = ["run", "--delay", "nfqueue", "--rtt", "100", "--", "true"];
        let output = output(tools.used_by(lab(&delayed)));
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

/// This `tc` does nothing and reports no error.
#[test]
fn a_missing_delay_makes_the_lab_invalid() {
    if !has(Need::Links, lab) {
        return;
    }
    let tools = Tools::new("idle-tc").with("ip");
    tools.write("tc", "#!/bin/sh\ncat > /dev/null\n");
    let delayed = [
        "run", "--peers", "2", "--delay", "netem", "--rtt", "50", "--", "true",
    ];
    let output = output(tools.used_by(lab(&delayed)));
    assert_eq!(output.status.code(), Some(1));
    let errors = stderr(&output);
    let error = errors.lines().last().unwrap_or_default();
    assert!(
        error.contains("the lab is invalid: link to peer 1: asked for 50 ms, measured "),
        "{error}"
    );
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    for (arguments, expected) in [
        (["--rtt", "-1"], "is negative"),
        (["--rtt", "NaN"], "is not a number"),
        (["--loss", "2"], "has no unit"),
        (
            ["--delay", "magic"],
            "possible values: auto, netem, nfqueue",
        ),
        (["--central-core", "1000"], "--central-core 1000: "),
    ] {
        let error = error_of(lab(&["run", arguments[0], arguments[1], "--", "true"]), 2);
        assert!(error.contains(expected), "{error}");
    }
    if !has(Need::Links, lab) {
        return;
    }
    for (arguments, expected) in [
        (&["--peers", "0"][..], "--peers 0: a cell has from 1 to 250"),
        (
            &["--congestion-control", "nonsense"],
            "no congestion control \"nonsense\"",
        ),
        (
            &["--delay", "nfqueue", "--loss", "1%"],
            "--loss and --jitter need netem",
        ),
    ] {
        let error = error_of(lab(&[&["run"], arguments, &["--", "true"]].concat()), 2);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn preflight_reports_all_missing_programs_at_once() {
    let tools = Tools::new("nothing");
    let output = output(tools.used_by(lab(&["preflight"])));
    assert_eq!(output.status.code(), Some(1), "no cell could run");
    let text = stdout(&output);
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
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
}

/// A directory of programs that replaces the machine's directories.
struct Tools(PathBuf);

impl Tools {
    fn new(name: &str) -> Tools {
        let name = format!("lab-test-tools-{}-{name}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).expect("the temporary directory is writable");
        Tools(directory)
    }

    fn find(name: &str) -> Option<PathBuf> {
        let directories = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
        let mut paths = directories.iter().map(|directory| directory.join(name));
        paths.find(|path| path.exists())
    }

    fn has(name: &str) -> bool {
        Tools::find(name).is_some()
    }

    fn with(self, name: &str) -> Tools {
        let original = Tools::find(name).expect("links need it");
        symlink(original, self.0.join(name)).expect("the directory is ours");
        self
    }

    fn write(&self, name: &str, script: &str) {
        let path = self.0.join(name);
        fs::write(&path, script).expect("the directory is ours");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(path, executable).expect("the file is ours");
    }

    fn used_by(&self, mut command: Command) -> Command {
        command.env("LAB_TOOLS", &self.0);
        command
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
