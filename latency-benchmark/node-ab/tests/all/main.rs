//! What the program `examples/tasks.rs` leaves behind, however it ends.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use run_format::application::{ApplicationFile, ApplicationRun, Ended};
use run_format::files::read_versioned;
use run_format::table::read_table;
use run_format::tables::{SiteRow, SliceRow};
use run_format::variant::Role;
use run_format::{Budgets, Site};
use tempfile::TempDir;

/// Each has the machine for itself, since timers that are late end a comparison.
static ALONE: Mutex<()> = Mutex::new(());

struct Program {
    dir: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Program {
    fn new() -> Program {
        Program {
            dir: tempfile::tempdir().unwrap(),
            _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    fn cell(&self) -> PathBuf {
        self.folder().join("cells/application")
    }

    fn start(&self, time: &str, fails: &str) -> Child {
        Command::new(built(
            "examples/tasks",
            &["--package", "node-ab", "--examples"],
        ))
        .env("NODE_AB", time)
        .env("TASKS_FAIL", fails)
        .env("TASKS_RUN", self.folder())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
    }

    fn run(&self, time: &str, fails: &str) -> Output {
        self.start(time, fails).wait_with_output().unwrap()
    }

    fn ended(&self) -> ApplicationRun {
        read_versioned(&self.cell().join("run-1/run.json")).unwrap()
    }

    fn slices(&self, run: &str) -> Vec<SliceRow> {
        read_table(&self.cell().join(run).join("slices.csv"), true).unwrap()
    }

    fn report(&self) -> String {
        let analysis = built("analysis", &["--package", "analysis"]);
        let made = Command::new(analysis)
            .args(["report", "--format", "svg"])
            .arg(self.folder())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", text(&made.stderr));
        fs::read_to_string(self.folder().join("report/report.md")).unwrap()
    }
}

/// `cargo test --workspace` has built it.
fn built(name: &str, arguments: &[&str]) -> PathBuf {
    static BUILDS: Mutex<()> = Mutex::new(());
    let _one = BUILDS.lock().unwrap_or_else(PoisonError::into_inner);
    let of_test = env::current_exe().unwrap();
    let program = of_test.ancestors().nth(2).unwrap().join(name);
    if !program.is_file() {
        let mut cargo = Command::new(env!("CARGO"));
        let status = cargo.arg("build").args(arguments).status();
        assert!(status.unwrap().success(), "{name} cannot be built");
    }
    program
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn budgets_take_turns_until_the_time_is_up_and_analysis_makes_a_report() {
    let program = Program::new();
    let output = program.run("4s", "");
    assert_eq!(
        text(&output.stdout),
        "Ok(Some(TimeUp)), bounded: false\n",
        "{}",
        text(&output.stderr)
    );
    let file: ApplicationFile = read_versioned(&program.folder().join("application.json")).unwrap();
    let roles: Vec<Role> = file.variants.iter().map(|it| it.role).collect();
    assert_eq!(roles, [Role::Baseline, Role::Control, Role::Candidate]);
    let slices = program.slices("run-1");
    let run = program.ended();
    assert!(run.blocks > 0 && slices.len() >= 3 * run.blocks as usize);
    assert!(slices.iter().any(|slice| slice.requests > Some(0)));
    assert!(slices.iter().all(|slice| slice.bytes.is_none()));
    let sites: Vec<SiteRow> = read_table(&program.cell().join("run-1/sites.csv"), false).unwrap();
    for (slice, site) in slices.iter().zip(&sites) {
        assert_eq!(
            (slice.slice, site.site, site.lost),
            (site.slice, Site::Task, 0)
        );
        let is_bounded = file.variants[slice.variant].budgets != Budgets::NONE;
        assert_eq!(site.yielded > 0, is_bounded, "slice {}", slice.slice);
    }
    let report = program.report();
    for said in [
        "**Verdict.**",
        "The application `tasks`",
        "task=8/deferred",
        "A/A control",
    ] {
        assert!(report.contains(said), "{said}: {report}");
    }
    for claim in ["peers", "RTT", "namespace", "sweep.sh", "payload"] {
        assert!(!report.contains(claim), "{claim}: {report}");
    }
}

#[test]
fn off_it_does_nothing() {
    let program = Program::new();
    let output = program.run("off", "");
    assert_eq!(text(&output.stdout), "Ok(None), bounded: false\n");
    assert!(!program.folder().exists());
}

#[test]
fn a_time_that_is_none_is_one_line_that_says_what_would_be_one() {
    let output = Program::new().run("sixty", "");
    let error = text(&output.stderr);
    assert!(
        !output.status.success() && error.contains("NODE_AB") && error.contains("60s"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1);
}

#[test]
fn a_check_that_fails_puts_none_in_force_and_the_report_says_why() {
    let program = Program::new();
    let output = program.run("60s", "check");
    let (shown, reason) = (text(&output.stdout), "it was asked to");
    assert!(
        shown.contains(reason) && shown.ends_with("bounded: false\n"),
        "{shown}"
    );
    assert!(matches!(program.ended().ended, Ended::Guardrail { .. }));
    let report = program.report();
    assert!(
        report.contains("A guardrail ended") && report.contains(reason),
        "{report}"
    );
}

#[test]
fn a_panic_of_the_application_ends_the_run_in_order() {
    let program = Program::new();
    let output = program.run("60s", "panic");
    assert_eq!(output.status.code(), Some(101));
    assert_eq!(program.ended().ended, Ended::Stopped);
}

#[test]
fn without_its_runtime_it_ends_and_none_is_in_force() {
    let program = Program::new();
    let shown = text(&program.run("60s", "runtime").stdout);
    assert!(
        shown.contains("runtime") && shown.ends_with("bounded: false\n"),
        "{shown}"
    );
    assert!(matches!(program.ended().ended, Ended::Failed { .. }));
}

#[test]
fn a_folder_that_is_gone_is_an_error_and_none_is_in_force() {
    let program = Program::new();
    let child = program.start("3s", "");
    eventually(|| program.cell().is_dir());
    fs::remove_dir_all(program.folder()).unwrap();
    let shown = text(&child.wait_with_output().unwrap().stdout);
    assert!(
        shown.contains("Err") && shown.ends_with("bounded: false\n"),
        "{shown}"
    );
}

#[test]
fn what_a_killed_application_wrote_is_read() {
    let program = Program::new();
    let mut child = program.start("60s", "");
    let table = program.cell().join("run-1.partial/blocks.csv");
    eventually(|| lines(&table) > 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(program.slices("run-1.partial").len() >= 3);
    let report = program.report();
    assert!(report.contains("was killed"), "{report}");
}

fn lines(table: &Path) -> usize {
    fs::read_to_string(table).map_or(0, |text| text.lines().count())
}

fn eventually(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "not within a minute");
        thread::sleep(Duration::from_millis(5));
    }
}
