//! What the program `examples/tasks.rs` leaves behind, however it ends, and a comparison of a program with yamux.
#![allow(clippy::unwrap_used)]

mod muxer_bytes;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use program::ChildLimits;
use run_format::files::read_versioned;
use run_format::{
    ApplicationFile, ApplicationOutcome, ApplicationRun, Budgets, Role, Site, SiteRow, SliceRow,
    read_table,
};
use tempfile::TempDir;

/// A busy machine takes its time. A program that takes longer has no end.
const PATIENCE: ChildLimits = ChildLimits {
    time: Duration::from_secs(600),
    bytes: 1 << 20,
};

/// Each test has the machine for itself, since timers that are late end a comparison.
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
        self.start_with(&[("NODE_AB", time), ("TASKS_FAIL", fails)])
    }

    fn start_with(&self, environment: &[(&str, &str)]) -> Child {
        self.start_by(&mut Command::new(tasks()), environment)
    }

    fn start_by(&self, command: &mut Command, environment: &[(&str, &str)]) -> Child {
        command
            // A machine that also does something else must not end a comparison.
            .env("TASKS_TIMER_LIMIT_MS", "10000")
            .envs(environment.iter().copied())
            .env("NODE_AB_CONTROL", self.control())
            .env("TASKS_RUN", self.folder())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn control(&self) -> PathBuf {
        self.dir.path().join("control")
    }

    fn run(&self, time: &str, fails: &str) -> Output {
        finish(self.start(time, fails))
    }

    fn ended(&self) -> ApplicationRun {
        read_versioned(&self.cell().join("run-1/run.json")).unwrap()
    }

    fn slices(&self, run: &str) -> Vec<SliceRow> {
        read_table(&self.cell().join(run).join("slices.csv"), true).unwrap()
    }

    /// The figures of the report, which [`Program::report`] has made.
    fn summary(&self) -> String {
        fs::read_to_string(self.folder().join("report/summary.csv")).unwrap()
    }

    fn report(&self) -> String {
        let analysis = built("analysis", &["--package", "analysis"]);
        let mut report = Command::new(analysis);
        report
            .args(["report", "--format", "svg"])
            .arg(self.folder());
        let made = PATIENCE.output(&mut report).unwrap();
        assert!(made.status.success(), "{}", text(&made.stderr));
        fs::read_to_string(self.folder().join("report/report.md")).unwrap()
    }
}

fn tasks() -> PathBuf {
    built("examples/tasks", &["--package", "node-ab", "--examples"])
}

/// `cargo test --workspace` has built it.
fn built(name: &str, arguments: &[&str]) -> PathBuf {
    static BUILDS: Mutex<()> = Mutex::new(());
    let _one = BUILDS.lock().unwrap_or_else(PoisonError::into_inner);
    let test = env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join(name);
    if !program.is_file() {
        let mut cargo = Command::new(env!("CARGO"));
        let build = ChildLimits {
            time: Duration::from_secs(3600),
            ..PATIENCE
        };
        let built = build.output(cargo.arg("build").args(arguments)).unwrap();
        assert!(built.status.success(), "{}", text(&built.stderr));
    }
    program
}

/// Waits for the end of a program, and for what it printed. Panics if it does not end.
fn finish(mut child: Child) -> Output {
    let output = PATIENCE.rest_of(&mut child);
    if output.is_err() {
        child.kill().unwrap();
    }
    output.unwrap()
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
    let roles: Vec<Role> = file.variants.iter().map(|variant| variant.role).collect();
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
    assert!(!program.summary().contains("_mib"));
    for said in [
        "**Verdict.**",
        "The application `tasks`",
        "task=8/deferred",
        "A/A control",
    ] {
        assert!(report.contains(said), "{said}: {report}");
    }
    for claim in [
        "peers",
        "RTT",
        "round trip",
        "namespace",
        "sweep.sh",
        "payload",
    ] {
        assert!(!report.contains(claim), "{claim}: {report}");
    }
}

#[test]
fn bytes_that_the_application_counts_are_compared() {
    const OF_A_REQUEST: u64 = 40 << 16;
    let program = Program::new();
    let child = program.start_with(&[("NODE_AB", "4s"), ("TASKS_BYTES", "65536")]);
    assert!(finish(child).status.success());
    let slices = program.slices("run-1");
    assert!(!slices.is_empty());
    for slice in slices {
        let (bytes, requests) = (slice.bytes.unwrap(), slice.requests.unwrap());
        // Two tasks may be within a request at both ends of a turn.
        let whole = bytes / OF_A_REQUEST;
        assert!(
            whole.abs_diff(requests) <= 2,
            "{bytes} bytes, {requests} requests"
        );
    }
    let report = program.report();
    assert!(report.contains("data rate"), "{report}");
    let summary = program.summary();
    for metric in ["mib_per_s", "cpu_us_per_mib", "beyond_us_per_mib"] {
        let has_it = summary
            .lines()
            .any(|line| line.contains(metric) && line.contains("task=8"));
        assert!(has_it, "{metric}: {summary}");
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
    // The turns begin after half a second.
    let output = program.run("10s", "check");
    let (shown, reason) = (text(&output.stdout), "it was asked to");
    assert!(
        shown.contains(reason) && shown.ends_with("bounded: false\n"),
        "{shown}"
    );
    assert!(matches!(
        program.ended().outcome,
        ApplicationOutcome::Guardrail { .. }
    ));
    let report = program.report();
    assert!(
        report.contains("A guardrail ended") && report.contains(reason),
        "{report}"
    );
}

#[test]
fn without_its_recording_thread_none_is_in_force_and_nothing_grows() {
    let program = Program::new();
    let output = program.run("10s", "reader");
    let shown = text(&output.stdout);
    let mut lines = shown.lines();
    let ended = lines.next().unwrap();
    assert!(
        ended.contains("recording thread has panicked") && ended.ends_with("bounded: false"),
        "{shown}"
    );
    let grown = lines
        .next()
        .and_then(|line| line.split_whitespace().rev().nth(1));
    let grown: u64 = grown.unwrap().parse().unwrap();
    assert!(output.status.success() && grown < 1 << 10, "{shown}");
    // Analysis reads the slices that were written before.
    program.report();
}

#[test]
fn a_panic_of_the_application_ends_the_run_in_order() {
    let program = Program::new();
    let output = program.run("60s", "panic");
    assert_eq!(output.status.code(), Some(101));
    assert_eq!(program.ended().outcome, ApplicationOutcome::Stopped);
}

#[test]
fn without_its_runtime_it_ends_and_none_is_in_force() {
    let program = Program::new();
    let shown = text(&program.run("60s", "runtime").stdout);
    assert!(
        shown.contains("runtime") && shown.ends_with("bounded: false\n"),
        "{shown}"
    );
    assert!(matches!(
        program.ended().outcome,
        ApplicationOutcome::Failed { .. }
    ));
}

#[test]
fn a_folder_that_is_gone_is_an_error_and_none_is_in_force() {
    let program = Program::new();
    let child = program.start("3s", "");
    eventually(|| program.cell().is_dir());
    fs::remove_dir_all(program.folder()).unwrap();
    let shown = text(&finish(child).stdout);
    assert!(
        shown.contains("Err") && shown.ends_with("bounded: false\n"),
        "{shown}"
    );
}

#[test]
fn on_a_full_disk_it_ends_none_is_in_force_and_what_was_written_is_read() {
    const OWN_MOUNTS: [&str; 3] = ["--user", "--map-root-user", "--mount"];
    let mut mounts = Command::new("unshare");
    let mounted = PATIENCE.output(mounts.args(OWN_MOUNTS).arg("true"));
    if !mounted.is_ok_and(|output| output.status.success()) {
        assert!(env::var_os("CI").is_none(), "no user namespace can be made");
        return println!("skipped, missing: user namespaces");
    }
    let program = Program::new();
    let disk = program.dir.path().join("disk");
    fs::create_dir(&disk).unwrap();
    // The disk has room for some blocks. It is gone when the shell ends.
    let script = "mount -t tmpfs -o size=64k none $DISK && TASKS_RUN=$DISK/run $0; cp -r $DISK/run $TASKS_RUN";
    let mut shell = Command::new("unshare");
    shell
        .args(OWN_MOUNTS)
        .args(["sh", "-c", script])
        .arg(tasks())
        .env("DISK", &disk);
    let output = finish(program.start_by(&mut shell, &[("NODE_AB", "30s")]));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("Err")
            && shown.contains("No space left")
            && shown.ends_with("bounded: false\n"),
        "{shown}"
    );
    assert!(program.slices("run-1.partial").len() >= 3);
    program.report();
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

#[test]
fn a_control_file_switches_it_off_and_on_and_the_time_off_does_not_count() {
    let program = Program::new();
    let control = |text: &str| fs::write(program.control(), text).unwrap();
    control("off\n");
    let child = program.start("3s", "");
    thread::sleep(Duration::from_millis(3500));
    assert!(!program.cell().join("run-1.partial/slices.csv").exists());
    control("on\n");
    let slices = program.cell().join("run-1.partial/slices.csv");
    eventually(|| lines(&slices) > 1);
    control("off\n");
    // A turn and the settling after it may still end.
    thread::sleep(Duration::from_millis(1500));
    let while_off = lines(&slices);
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(lines(&slices), while_off);
    fs::remove_file(program.control()).unwrap();
    let output = finish(child);
    assert_eq!(
        text(&output.stdout),
        "Ok(Some(TimeUp)), bounded: false\n",
        "{}",
        text(&output.stderr)
    );
    let run = program.ended();
    assert!(run.took_ms > 6000 && run.blocks > 0, "{run:?}");
    program.report();
}

#[test]
fn a_site_that_is_polled_late_is_recorded_from_then_on() {
    let program = Program::new();
    program.run("4s", "late");
    let sites: Vec<SiteRow> = read_table(&program.cell().join("run-1/sites.csv"), false).unwrap();
    let late: Vec<&SiteRow> = sites.iter().filter(|row| row.site == Site::Muxer).collect();
    let slices = late.iter().map(|row| row.slice);
    assert!(slices.eq(1..=program.slices("run-1").len() as u32));
    assert_eq!(late[0].polls, 0);
    assert!(late[late.len() - 1].polls > 0);
    program.report();
}

#[test]
fn a_site_that_never_reports_is_named_while_the_application_goes_on() {
    let program = Program::new();
    let child = program.start_with(&[("NODE_AB", "2s"), ("TASKS_BUDGET", "muxer=1")]);
    let output = finish(child);
    let said = text(&output.stderr);
    assert!(
        said.starts_with("node-ab: no poll of the site muxer"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    let shown = text(&output.stdout);
    assert!(shown.contains("Err") && shown.contains("muxer"), "{shown}");
}

/// `AA=40x30s cargo test -p node-ab -- --ignored --nocapture a_budget_that_ends_no_poll` takes twenty minutes.
#[test]
#[ignore = "exhaustive: takes as long as it is asked to"]
fn exhaustive_a_budget_that_ends_no_poll_is_seldom_flagged() {
    let asked = env::var("AA").unwrap_or_else(|_| "3x3s".to_owned());
    let (runs, time) = asked.split_once('x').unwrap();
    let (mut rows, mut flagged) = (0, Vec::new());
    for _ in 0..runs.parse().unwrap() {
        let program = Program::new();
        let child = program.start_with(&[
            ("NODE_AB", time),
            ("TASKS_BUDGET", "task=1000000"),
            ("TASKS_BYTES", "65536"),
        ]);
        assert!(finish(child).status.success());
        program.report();
        let summary = program.summary();
        let compared = summary
            .lines()
            .filter(|line| line.ends_with(",no") || is_flagged(line));
        rows += compared.count();
        flagged.extend(summary.lines().filter(is_flagged).map(str::to_owned));
    }
    println!("{} of {rows} comparisons were flagged", flagged.len());
    println!("{}", flagged.join("\n"));
    assert!(rows > 0);
}

fn is_flagged(line: &&str) -> bool {
    line.ends_with(",lower") || line.ends_with(",higher")
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
