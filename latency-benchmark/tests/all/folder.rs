//! The folder of results is deleted, replaced or full while a sweep writes to it; and the terminal goes away.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use crate::bench::{self, Bench, can_run, pid, signal, text, words};
use nix::sys::signal::Signal::SIGHUP;

/// A sweep of two cells whose first is being measured.
fn begun(bench: &Bench) -> Child {
    let mut sweep = bench.sweep(&words("--peers 1 --rtt 0 --payload 4KiB,8KiB"));
    sweep.args(words("--budget none --no-aa --turn 100"));
    sweep.args(words("--precision 0.0001ms,0.0001% --max-cell-seconds 2"));
    let sweep = sweep.spawn().unwrap();
    bench.wait_for_rows("slices.csv");
    sweep
}

/// The only line with an error, and what was said in all.
fn error(output: &std::process::Output) -> (String, String) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let errors: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("error: "))
        .collect();
    assert_eq!(errors.len(), 1, "{said}");
    (errors[0].to_owned(), said)
}

#[test]
#[ignore = "exhaustive: another fault"]
fn exhaustive_a_folder_that_is_deleted_or_replaced_ends_the_sweep() {
    if !can_run(false) {
        return;
    }
    for is_replaced in [false, true] {
        let bench = Bench::new();
        let sweep = begun(&bench);
        fs::rename(bench.run_dir(), bench.out().join("moved")).unwrap();
        if is_replaced {
            fs::create_dir(bench.run_dir()).unwrap();
        }
        let (error, said) = error(&bench::finish(sweep));
        assert!(error.contains("deleted or replaced"), "{error}");
        assert!(!said.contains("--resume"), "{said}");
        assert!(!bench.run_dir().join("cells").exists());
        bench.assert_nothing_left();
    }
}

#[test]
fn a_full_disk_ends_the_sweep_and_what_is_there_is_kept() {
    let Some(bench) = Bench::near() else { return };
    let mount = bench.dir.path().join("small");
    fs::create_dir(&mount).unwrap();
    // Not all of it fits.
    let script = format!(
        "mount -t tmpfs -o size=250k none {mount} && exec {program} sweep --measure-only --out {mount} --name run --peers 2 --rtt 0 \
         --payload 4KiB,8KiB,16KiB --max-cell-seconds 60 --turn 100 --precision 0.0001ms,0.0001%",
        mount = mount.display(),
        program = bench::PROGRAM
    );
    let user = if nix::unistd::geteuid().is_root() {
        "-m"
    } else {
        "-rm"
    };
    let mut command = Command::new("unshare");
    command.args([user, "sh", "-c", &script]);
    bench.prepare(&mut command);
    let (error, said) = error(&command.output().unwrap());
    assert!(
        error.contains("has no room for more: No space left on device"),
        "{said}"
    );
    assert!(error.contains("what was measured is kept"), "{said}");
    let failed = said.matches("FAILED").count();
    assert!(failed <= 1, "no other cell is tried: {said}");
    bench.assert_nothing_left();
}

/// A file may not become as large as a cell's tables: the kernel says so with a signal.
#[test]
fn a_limit_on_files_ends_the_sweep() {
    let Some(bench) = Bench::near() else { return };
    let mut command = Command::new("prlimit");
    command.arg("--fsize=40000").arg(bench::PROGRAM);
    command
        .args(words("sweep --measure-only --name run --out"))
        .arg(bench.out());
    command.args(words("--peers 1 --rtt 0 --payload 4KiB,8KiB --no-aa"));
    bench.prepare(&mut command);
    let (error, said) = error(&command.output().unwrap());
    assert!(
        error.contains("has no room for more: File too large"),
        "{said}"
    );
    let failed = said.matches("FAILED").count();
    assert!(failed <= 1, "no other cell is tried: {said}");
    bench.assert_nothing_left();
}

#[test]
fn a_sweep_under_nohup_does_not_end_with_its_terminal() {
    let Some(bench) = Bench::near() else { return };
    let mut command = Command::new("nohup");
    command
        .arg(bench::PROGRAM)
        .args(words("sweep --measure-only --name run --out"));
    command
        .arg(bench.out())
        .args(bench::SMALL)
        .args(words("--rtt 0"));
    bench.prepare(&mut command);
    let sweep = command.process_group(0).spawn().unwrap();
    bench.wait_for("central", 0);
    signal(pid(&sweep), SIGHUP);
    let output = bench::finish(sweep);
    assert!(output.status.success(), "{}", text(&output.stderr));
}
