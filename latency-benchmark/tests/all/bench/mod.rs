//! Runs the program, and looks after what it leaves.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use program::ChildLimits;
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_latency-benchmark");

/// Arguments of a sweep of one small cell.
#[rustfmt::skip]
pub(crate) const SMALL: [&str; 10] = [
    "--peers", "2", "--payload", "4KiB", "--max-cell-seconds", "1", "--turn", "100", "--seed", "1",
];

/// Enough for a folder to be a checkout.
pub(crate) const MANIFEST: &str = "[package]\nname = \"libp2p-swarm\"\n";

/// Marks every process that a test starts, so that they can be found.
pub(crate) const MARK: &str = "LATENCY_BENCHMARK_TEST";

pub(crate) struct Bench {
    pub(crate) dir: TempDir,
    pub(crate) mark: String,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().display().to_string();
        Bench { dir, mark }
    }

    /// A bench, if this machine can run cells without a delay.
    pub(crate) fn near() -> Option<Bench> {
        can_run(false).then(Bench::new)
    }

    /// A bench, if this machine can run cells with a delay.
    pub(crate) fn far() -> Option<Bench> {
        can_run(true).then(Bench::new)
    }

    /// Refuses in one line what is before ` => ` in each line of `wrong`, with what is behind it, and writes nothing.
    pub(crate) fn refuses(&self, command: impl Fn() -> Command, wrong: &str) {
        for line in wrong.lines().filter(|line| !line.is_empty()) {
            let (arguments, says) = line.split_once(" => ").expect(line);
            let output = command().args(words(arguments)).output().unwrap();
            let complaint = complaint(&output);
            assert!(complaint.contains(says), "{arguments}: {complaint}");
            assert!(!self.out().exists(), "{arguments}");
        }
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.dir.path().join("results")
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.out().join("run")
    }

    /// The program with arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        build_node();
        let mut command = with_default_signals();
        command.arg(PROGRAM).args(arguments);
        self.prepare(&mut command);
        command
    }

    pub(crate) fn prepare(&self, command: &mut Command) {
        command
            .env(MARK, &self.mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    /// A sweep into `results/run` of this bench.
    pub(crate) fn sweep(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["sweep", "--measure-only"]);
        command
            .arg("--out")
            .arg(self.out())
            .args(["--name", "run"])
            .args(arguments);
        command
    }

    pub(crate) fn resume(&self) -> Command {
        let mut command = self.command(&["sweep", "--measure-only", "--resume"]);
        command.arg(self.run_dir());
        command
    }

    /// The processes that carry this bench's mark, by their ids.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let wanted = format!("{MARK}={}", self.mark);
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter_map(|entry| {
                let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
                let environment = fs::read(entry.path().join("environ")).ok()?;
                let is_ours = environment
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == wanted.as_bytes());
                let command = fs::read(entry.path().join("cmdline")).ok()?;
                let command = String::from_utf8_lossy(&command).replace('\0', " ");
                (is_ours && pid != std::process::id() as i32).then_some((pid, command))
            })
            .collect()
    }

    /// The id of the process whose arguments begin with `verb`, as soon as there is one.
    pub(crate) fn wait_for(&self, verb: &str, nth: usize) -> i32 {
        let wanted = format!(" {verb} ");
        eventually(&format!("{nth}. process with the verb {verb}"), || {
            let mut pids: Vec<i32> = self
                .processes()
                .into_iter()
                .filter(|(_, command)| format!("{command} ").contains(&wanted))
                .map(|(pid, _)| pid)
                .collect();
            pids.sort_unstable();
            pids.get(nth).copied()
        })
    }

    /// Panics unless nothing is left in the end. A busy machine takes its time to undo a lab.
    pub(crate) fn assert_nothing_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline && !self.processes().is_empty() {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(self.processes(), []);
    }

    /// Waits until the first cell that is being measured has several rows in a table. Returns the table.
    pub(crate) fn wait_for_rows(&self, table: &str) -> String {
        rows_of(|| Some(self.runs("run-1.partial").first()?.join(table)))
    }

    /// Reports the folder `run`. Returns `report.md`.
    pub(crate) fn report(&self) -> String {
        let mut report = Command::new(analysis());
        report.arg("report").arg(self.run_dir());
        succeeds(report.args(["--format", "svg"]));
        fs::read_to_string(self.run_dir().join("report/report.md")).unwrap()
    }

    /// A sweep with a subject to build, for which a program in cargo's place never ends a build, nor does what it has started.
    pub(crate) fn endless_build(&self) -> Command {
        let cargo = self.dir.path().join("cargo");
        let build = "build) sleep 1000 & wait ;;";
        let others = format!("*) exec {} \"$@\" ;;", env!("CARGO"));
        write_program(
            &cargo,
            &format!("#!/bin/sh\ncase $1 in {build} {others} esac\n"),
        );
        let subject = "--peers 1 --rtt 0 --payload 4KiB --subject released+muxer=1/deferred";
        let mut sweep = self.sweep(&words(subject));
        sweep.env("CARGO", cargo);
        sweep.env("CARGO_TARGET_DIR", self.dir.path().join("target"));
        sweep
    }

    /// A node program that does as a script says in one verb. In the script, `$NODE` is the program that works.
    pub(crate) fn with_node(&self, verb: &str, script: &str) -> PathBuf {
        let node = node_program("libp2p-node");
        let branch = format!("[ $1 = {verb} ] && {{ {script}\n}}");
        let script = format!(
            "#!/bin/sh\nNODE={}\n{branch}\nexec $NODE $1\n",
            node.display()
        );
        let program = self.dir.path().join("node");
        write_program(&program, &script);
        program
    }

    /// The only folder `cells/*/NAME`.
    pub(crate) fn only(&self, name: &str) -> PathBuf {
        let runs = self.runs(name);
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    /// The folders `cells/*/NAME`.
    pub(crate) fn runs(&self, name: &str) -> Vec<PathBuf> {
        let cells = fs::read_dir(self.run_dir().join("cells"))
            .into_iter()
            .flatten()
            .flatten();
        let mut runs: Vec<PathBuf> = cells
            .map(|cell| cell.path().join(name))
            .filter(|path| path.exists())
            .collect();
        runs.sort();
        runs
    }
}

/// Waits until a table has several rows. Returns it. `path` is None as long as it is not known.
pub(crate) fn rows_of(path: impl Fn() -> Option<PathBuf>) -> String {
    eventually("a few rows", || {
        let text = fs::read_to_string(path()?).ok()?;
        (text.lines().count() > 2).then_some(text)
    })
}

/// Runs a command that must succeed.
#[track_caller]
pub(crate) fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

/// Another process writes the program. If this one did, a child of another test, which was forked meanwhile, could
/// still have the file open, and then the program could not be started ("Text file busy").
pub(crate) fn write_program(path: &Path, script: &str) {
    let mut writer = Command::new("sh");
    writer
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path);
    let mut child = writer.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(script.as_bytes()).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

/// Runs what its arguments say, and ignores no signal, as this process may: a job in the background of a script ignores
/// SIGINT.
pub(crate) fn with_default_signals() -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.arg("--default-signal");
    command
}

/// Waits for the end of a program with pipes, and for what it printed. Panics if it does not end: a busy machine takes its
/// time.
pub(crate) fn finish(mut child: Child) -> Output {
    const PATIENCE: ChildLimits = ChildLimits {
        time: Duration::from_secs(180),
        bytes: 64 << 20,
    };
    let output = PATIENCE.rest_of(&mut child);
    if output.is_err() {
        child.kill().unwrap();
    }
    output.unwrap()
}

/// The program `name` of the node's package, in the folder of this profile.
pub(crate) fn node_program(name: &str) -> PathBuf {
    build_node();
    Path::new(PROGRAM).with_file_name(name)
}

/// `cargo test --workspace` has built the node program. Without `--workspace` it may be missing.
fn build_node() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let beside = |name| Path::new(PROGRAM).with_file_name(name);
        let wanted = [
            "libp2p-node",
            "libp2p-node-counting",
            "libp2p-node-gate",
            "examples/faulty_node",
        ];
        if wanted.into_iter().all(|name| beside(name).is_file()) {
            return;
        }
        let cargo = Command::new(env!("CARGO"))
            .args(["build", "--package", "libp2p-node", "--bins", "--examples"])
            .args(["--features", "gossipsub,quic,symbols,tls"])
            .status();
        assert!(cargo.unwrap().success(), "the node program cannot be built");
    });
}

/// The program `analysis`.
pub(crate) fn analysis() -> PathBuf {
    build_program("analysis")
}

/// The program of the package of that name. `cargo test --workspace` has built it.
pub(crate) fn build_program(name: &str) -> PathBuf {
    let program = Path::new(PROGRAM).with_file_name(name);
    if !program.is_file() {
        let mut cargo = Command::new(env!("CARGO"));
        let status = cargo.args(["build", "--package", name]).status();
        assert!(status.unwrap().success(), "{name} cannot be built");
    }
    program
}

/// Whether nothing is missing that a test needs. In CI it is a failure if something is.
pub(crate) fn lacks_nothing(missing: impl Iterator<Item = &'static str>) -> bool {
    let missing: Vec<&str> = missing.collect();
    if missing.is_empty() {
        return true;
    }
    assert_ne!(
        std::env::var("CI").as_deref(),
        Ok("true"),
        "missing: {missing:?}"
    );
    println!("skipped, missing: {missing:?}");
    false
}

/// Arguments without spaces.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Polls until there is a value, for at most three minutes: a busy machine can need more than one.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(180);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            Instant::now() < deadline,
            "{what}: not within three minutes"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn signal(pid: i32, signal: nix::sys::signal::Signal) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).unwrap();
}

pub(crate) fn kill(pid: i32) {
    signal(pid, nix::sys::signal::Signal::SIGKILL);
}

pub(crate) fn pid(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asserts that a text has all of these parts.
#[track_caller]
pub(crate) fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

/// A wrong call: one line, exit code 2.
pub(crate) fn complaint(output: &Output) -> String {
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    let lines: Vec<&str> = complaint
        .lines()
        .filter(|line| !line.starts_with("warning: the load"))
        .collect();
    assert_eq!(lines.len(), 1, "{complaint}");
    assert!(lines[0].starts_with("error: "), "{complaint}");
    lines[0].to_owned()
}

pub(crate) fn json(path: &Path) -> serde_json::Value {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether the machine can run cells of that kind; a test that needs them and cannot have them is
/// skipped, which in CI is a failure.
pub(crate) fn can_run(delayed: bool) -> bool {
    let mut preflight = Command::new(PROGRAM);
    preflight.arg("preflight");
    can_run_by(preflight, delayed)
}

/// Whether `preflight`, as the user who runs it here, says that cells of that kind can run.
pub(crate) fn can_run_by(mut preflight: Command, delayed: bool) -> bool {
    let output = preflight.output().unwrap();
    let text = text(&output.stdout);
    let wanted = if delayed {
        "cells with a delay can run"
    } else {
        "cells without a delay (RTT 0) can run"
    };
    if text.contains(wanted) {
        return true;
    }
    assert_ne!(
        std::env::var("CI").as_deref(),
        Ok("true"),
        "missing: {wanted}\n{text}"
    );
    println!("skipped, missing: {wanted}");
    false
}

/// Whether this machine's kernel has netem. Nothing can be installed if not, so this is not asked of
/// CI either.
pub(crate) fn has_netem() -> bool {
    let output = Command::new(PROGRAM).arg("preflight").output().unwrap();
    let text = text(&output.stdout);
    let mut lines = text.lines().map(str::split_whitespace);
    lines.any(|words| words.take(2).eq(["ok", "netem"]))
}

/// A row of a table, by column.
pub(crate) type Row = BTreeMap<String, String>;

pub(crate) fn table(path: &Path) -> Vec<Row> {
    csv::Reader::from_path(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .into_deserialize()
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn number(row: &Row, column: &str) -> u64 {
    row[column]
        .parse()
        .unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

pub(crate) fn value(row: &Row, column: &str) -> f64 {
    row[column]
        .parse()
        .unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

/// The histograms of a run by their tags.
pub(crate) fn histograms(run: &Path) -> BTreeMap<String, Histogram<u64>> {
    use base64::Engine;
    let log = fs::read(run.join("histograms.hlog")).unwrap();
    let mut found = BTreeMap::new();
    for entry in IntervalLogIterator::new(&log) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(interval.encoded_histogram())
                .unwrap();
            let histogram = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            let tag = interval.tag().unwrap().as_str().to_owned();
            assert!(found.insert(tag, histogram).is_none());
        }
    }
    found
}
