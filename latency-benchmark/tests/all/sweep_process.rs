//! Sweeps that are interrupted, that run at the same time, and that have few rights or one core.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::bench::{
    self, Bench, SMALL, can_run, json, kill, pid, signal, succeeds, table, text, words,
    write_program,
};
use nix::sys::signal::Signal;

/// A sweep by an ordinary user, who may have so many processes.
fn sweep_as_user(bench: &Bench, user: u32, processes: Option<u32>) -> Command {
    fs::create_dir(bench.out()).unwrap();
    for path in [bench.dir.path().to_owned(), bench.out()] {
        std::os::unix::fs::chown(&path, Some(user), Some(user)).unwrap();
    }
    // Where the program was built is not for everybody to see.
    let program = bench.dir.path().join("latency-benchmark");
    fs::copy(bench::PROGRAM, &program).unwrap();
    let node = "libp2p-node";
    fs::copy(bench::node_program(node), program.with_file_name(node)).unwrap();
    let mut command = Command::new("env");
    if let Some(processes) = processes {
        command.arg("prlimit").arg(format!("--nproc={processes}"));
    }
    command.arg("setpriv");
    let user = [format!("--reuid={user}"), format!("--regid={user}")];
    command.args(user).arg("--clear-groups").arg(program);
    command
        .args(["sweep", "--measure-only", "--out"])
        .arg(bench.out());
    command.args(words("--name run")).args(SMALL);
    command.args(words("--rtt 0 --no-aa --budget none"));
    bench.prepare(&mut command);
    command
}

#[test]
fn an_ordinary_user_can_sweep() {
    if !nix::unistd::geteuid().is_root() {
        return; // Every other test shows it.
    }
    let Some(bench) = Bench::near() else { return };
    let mut command = sweep_as_user(&bench, 65_534, None);
    succeeds(&mut command);
    let run = bench.only("run-1");
    assert_eq!(
        json(&run.join("run.json"))["network"]["lab"]["rootless"],
        true
    );
    bench.assert_nothing_left();
}

#[test]
fn too_few_processes_are_a_line_and_no_panic() {
    if !nix::unistd::geteuid().is_root() || !can_run(false) {
        return;
    }
    for processes in 1..15 {
        let bench = Bench::new();
        // Nobody else has processes of this user.
        let mut command = sweep_as_user(&bench, 64_321, Some(processes));
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        let code = output.status.code();
        println!(
            "{processes} processes: {}",
            said.lines().last().unwrap_or_default()
        );
        assert!(matches!(code, Some(0..=2)), "{processes}: {code:?}: {said}");
        assert!(
            !said.contains("panicked") && !said.contains("RUST_BACKTRACE"),
            "{processes}: {said}"
        );
        bench.assert_nothing_left();
    }
}

#[test]
fn an_interrupt_keeps_what_is_there_and_the_rest_can_be_measured_later() {
    if !can_run(false) {
        return;
    }
    let cells = "sweep --measure-only --peers 1,2 --rtt 0 --payload 4KiB --turn 200 \
                 --max-cell-seconds 3600 --precision 0.0001ms,0.0001%";
    let sizes = "rr --payload 64B,65B --seconds 3600 --slice 50";
    for (arguments, manifest) in [(cells, "manifest.json"), (sizes, "rr.json")] {
        let bench = Bench::new();
        let arguments = words(arguments);
        let mut command = bench.command(&arguments);
        command.arg("--out").arg(bench.out()).arg("--name=run");
        let running = command.spawn().unwrap();
        let slices = bench.wait_for_rows("slices.csv");
        signal(pid(&running), Signal::SIGINT);
        let output = bench::finish(running);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{said}");
        let summary = "\n0 runs measured, 0 invalid, 0 failed; interrupted in ";
        assert!(said.contains(summary), "{said}");
        bench.assert_nothing_left();
        let partial = bench.only("run-1.partial");
        assert_eq!(json(&partial.join("run.json"))["stop"], "interrupted");
        assert!(table(&partial.join("slices.csv")).len() >= slices.lines().count() - 1);

        // As it was asked for, but for how long: that is in the manifest.
        let manifest = bench.run_dir().join(manifest);
        let shorter = fs::read_to_string(&manifest).unwrap();
        fs::write(&manifest, shorter.replace("3600000", "1000")).unwrap();
        let mut resume = bench.command(&[arguments[0], "--resume"]);
        succeeds(resume.arg(bench.run_dir()));
        assert_eq!(bench.runs("run-1").len(), 2);
        let kept = bench.runs("run-1.killed-1");
        assert_eq!(kept.len(), 1, "what was there is kept");
    }
}

/// A preempted shard must not look complete.
#[test]
fn an_interrupt_in_the_only_cell_is_no_success_whatever_the_signal_and_the_report_says_so() {
    if !can_run(false) {
        return;
    }
    let sweep = "sweep --measure-only --peers 1 --rtt 0 --payload 4KiB --turn 200 --max-cell-seconds 3600 --precision 0.0001ms,0.0001%";
    let shard = format!("{sweep} --seed 1 --shard 1/1");
    for (arguments, signal_sent, folder) in [
        (sweep, Signal::SIGINT, "run"),
        (&shard, Signal::SIGTERM, "run-shard-1-of-1"),
        ("rr --payload 64B --seconds 3600", Signal::SIGHUP, "run"),
    ] {
        let bench = Bench::new();
        let mut command = bench.command(&words(arguments));
        command.arg("--out").arg(bench.out()).arg("--name=run");
        let running = command.spawn().unwrap();
        let dir = bench.out().join(folder);
        bench::rows_of(|| {
            let cell = fs::read_dir(dir.join("cells")).ok()?.flatten().next()?;
            Some(cell.path().join("run-1.partial/blocks.csv"))
        });
        signal(pid(&running), signal_sent);
        let output = bench::finish(running);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{arguments}: {said}");
        assert!(said.contains("; interrupted in "), "{arguments}: {said}");
        let hint = format!("to measure the rest: --resume {}", dir.display());
        assert!(said.contains(&hint), "{arguments}: {said}");
        let mut report = Command::new(bench::analysis());
        let report = report.arg("report").arg(&dir).args(["--format", "svg"]);
        let report = text(&succeeds(report).stdout);
        assert!(
            report.contains("not complete: it was interrupted"),
            "{arguments}: {report}"
        );
    }
}

#[test]
fn a_second_interrupt_stops_at_once() {
    let Some(bench) = Bench::near() else { return };
    let mut command = bench.sweep(&words("--peers 1 --rtt 0 --payload 4KiB --turn 600000"));
    let sweep = command.spawn().unwrap();
    bench.wait_for("central", 0);
    signal(pid(&sweep), Signal::SIGINT);
    signal(pid(&sweep), Signal::SIGTERM);
    let output = bench::finish(sweep);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    bench.assert_nothing_left();
}

/// A signal that is ignored when a verb starts stays ignored, whichever it is. A script in the background ignores some.
#[test]
fn what_is_ignored_at_the_start_stays_ignored() {
    let Some(bench) = Bench::near() else { return };
    let mut command = Command::new("env");
    command.args(["--ignore-signal=INT,HUP", "--default-signal=TERM"]);
    command
        .arg(bench::PROGRAM)
        .args(words("rr --payload 64B --seconds 3600 --name run --out"));
    command.arg(bench.out());
    bench.prepare(&mut command);
    let running = command.spawn().unwrap();
    let rows = bench.wait_for_rows("slices.csv").lines().count();
    signal(pid(&running), Signal::SIGINT);
    signal(pid(&running), Signal::SIGHUP);
    bench::eventually("another block", || {
        let now = bench.wait_for_rows("slices.csv").lines().count();
        (now > rows + 6).then_some(())
    });
    signal(pid(&running), Signal::SIGTERM);
    let output = bench::finish(running);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("; interrupted in "), "{said}");
    bench.assert_nothing_left();
}

/// A process that is stopped ends by nothing but SIGKILL.
#[test]
fn one_signal_ends_a_sweep_whose_processes_are_stopped() {
    let Some(bench) = Bench::near() else { return };
    let arguments = "--peers 1 --rtt 0 --payload 4KiB --max-cell-seconds 3600";
    let sweep = bench.sweep(&words(arguments)).spawn().unwrap();
    bench.wait_for("central", 0);
    bench.wait_for_rows("slices.csv");
    for (process, _) in bench.processes() {
        if process != pid(&sweep) {
            signal(process, Signal::SIGSTOP);
        }
    }
    signal(pid(&sweep), Signal::SIGTERM);
    let output = bench::finish(sweep);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    let partial = bench.only("run-1.partial");
    assert_eq!(json(&partial.join("run.json"))["stop"], "interrupted");
    bench.assert_nothing_left();
}

#[test]
fn a_signal_ends_a_build() {
    let bench = Bench::new();
    let planned = bench.endless_build().arg("--dry-run").output().unwrap();
    let planned = text(&planned.stdout);
    let to_build = "to be built: released+muxer=1/deferred";
    assert!(planned.lines().any(|line| line == to_build), "{planned}");
    let sweep = bench.endless_build().spawn().unwrap();
    bench::eventually("a build", || {
        let mut processes = bench.processes().into_iter();
        processes.find(|(_, command)| command.starts_with("sleep 1000"))
    });
    signal(pid(&sweep), Signal::SIGTERM);
    let output = bench::finish(sweep);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.starts_with(to_build), "{said}");
    assert!(said.contains("the build was interrupted"), "{said}");
    assert!(!bench.run_dir().exists());
    bench.assert_nothing_left();
}

#[test]
fn a_signal_ends_the_build_of_the_script() {
    let bench = Bench::new();
    let cargo = bench.dir.path().join("cargo");
    write_program(&cargo, "#!/bin/sh\nsleep 1000 & wait\n");
    for sent in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let mut script = bench::with_default_signals();
        script.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../sweep.sh"));
        bench.prepare(&mut script);
        let path = format!("{}:/usr/bin:/bin", bench.dir.path().display());
        let script = script.env("PATH", path).spawn().unwrap();
        bench::eventually("a build", || {
            let mut processes = bench.processes().into_iter();
            processes.find(|(_, command)| command.starts_with("sleep 1000"))
        });
        signal(pid(&script), sent);
        let output = bench::finish(script);
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        bench.assert_nothing_left();
    }
}

#[test]
fn a_sweep_beside_another_warns_and_its_report_says_so() {
    if !can_run(false) {
        return;
    }
    let (first, second) = (Bench::new(), Bench::new());
    let endless = words("--peers 1 --rtt 0 --payload 4KiB --turn 600000");
    let running = first.sweep(&endless).spawn().unwrap();
    first.wait_for("central", 0);
    let resumed = bench::complaint(&first.resume().output().unwrap());
    assert!(resumed.contains("another sweep is writing there"));

    // Some other verb may run on this machine at the same time. This one only looks like it.
    let looks = first.dir.path().join("latency-benchmark");
    std::os::unix::fs::symlink("/bin/sh", &looks).unwrap();
    fs::write(first.dir.path().join("explain"), "read line").unwrap();
    let mut third = Command::new(looks);
    first.prepare(third.current_dir(first.dir.path()).arg("explain"));
    let mut third = third.stdin(Stdio::piped()).spawn().unwrap();
    let output = succeeds(second.sweep(&SMALL).arg("--rtt=0"));
    kill(pid(&third));
    third.wait().unwrap();
    signal(pid(&running), Signal::SIGTERM);
    assert_eq!(bench::finish(running).status.code(), Some(130));
    first.assert_nothing_left();

    let said = text(&output.stderr);
    let mut lines = said.lines();
    let warning = lines.find(|line| line.starts_with("warning: another"));
    let warning = warning.unwrap_or_default();
    assert!(warning.contains("another explain"), "{said}");
    assert!(warning.contains("another sweep"), "{said}");
    // Other tests and other users may measure here, too, so it need not be the sweep above that is named.
    let beside = json(&second.only("run-1").join("run.json"))["beside"].clone();
    let verbs = ["sweep", "explain", "rr", "soak"];
    assert!(verbs.map(Into::into).contains(&beside), "{beside}");
    let report = second.report();
    let said = "During 1 run something else measured on this machine, too.";
    assert!(report.contains(said), "{report}");
}

#[test]
fn one_core_is_enough_and_said() {
    let Some(bench) = Bench::near() else { return };
    let mut command = Command::new("taskset");
    command.args(["-c", "0", bench::PROGRAM]);
    command.args(words("sweep --measure-only --name run --out"));
    command.arg(bench.out()).args(SMALL);
    command.args(words("--rtt 0 --no-aa --budget none"));
    bench.prepare(&mut command);
    succeeds(&mut command);
    let run = bench.only("run-1");
    assert_eq!(
        json(&run.join("run.json"))["network"]["lab"]["placement"]["sharing"],
        "core"
    );
}
