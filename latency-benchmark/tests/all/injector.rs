//! Sweeps under random faults: nothing stays behind, nothing that was finished is lost, and the report of what is left
//! names the damage. `FAULTS` is their number and `FAULT_SEED` makes others:
//! `FAULTS=200 FAULT_SEED=7 cargo test -p latency-benchmark --test all injector:: -- --nocapture`

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

use crate::bench::{self, Bench, PROGRAM, analysis, can_run, json, pid, table, text, value};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

#[derive(Clone, Copy, Debug)]
enum Fault {
    Kill(&'static str),
    Stop(&'static str),
    Signal(Signal),
    SignalInBuild(Signal),
    SignalTwice,
    Deleted,
    Replaced,
    DiskFull,
    FilesLimited,
}

const FAULTS: [Fault; 20] = [
    Fault::Kill("central"),
    Fault::Kill("peer"),
    Fault::Kill("delay-line"),
    Fault::Kill("cell"),
    Fault::Kill("sweep"),
    Fault::Stop("central"),
    Fault::Stop("peer"),
    Fault::Stop("delay-line"),
    Fault::Stop("cell"),
    Fault::Stop("sweep"),
    Fault::Signal(Signal::SIGINT),
    Fault::Signal(Signal::SIGHUP),
    Fault::SignalInBuild(Signal::SIGINT),
    Fault::SignalInBuild(Signal::SIGTERM),
    Fault::SignalInBuild(Signal::SIGHUP),
    Fault::SignalTwice,
    Fault::Deleted,
    Fault::Replaced,
    Fault::DiskFull,
    Fault::FilesLimited,
];

/// Traces that a sweep must not leave on the machine.
fn machine(bench: &Bench) -> [BTreeSet<String>; 3] {
    let names = |dir: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    };
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let ours = mounts.lines().filter(|line| line.contains(&bench.mark));
    let ours = ours.map(str::to_owned).collect();
    [names("/sys/class/net"), names("/run/netns"), ours]
}

/// Runs that have ended, with all that their tables say.
fn finished(bench: &Bench) -> BTreeMap<PathBuf, String> {
    let runs = bench.runs("run-1").into_iter();
    let rows =
        runs.filter_map(|run| Some((run.clone(), fs::read_to_string(run.join("run.json")).ok()?)));
    rows.filter(|(_, row)| row.contains(r#""status": "ok""#))
        .collect()
}

/// The sweep of two short cells, under the limit that the fault is.
fn start(bench: &Bench, fault: Fault, rng: &mut StdRng) -> Child {
    let rtt = if matches!(fault, Fault::Kill("delay-line") | Fault::Stop("delay-line")) {
        "5"
    } else {
        *["0", "5"].choose(rng).unwrap()
    };
    let out = bench.out().display().to_string();
    let sweep = format!(
        "{PROGRAM} sweep --measure-only --out {out} --name run --peers 2 --rtt {rtt} --payload 4KiB,8KiB --budget none --seed {} \
         --max-cell-seconds 1 --precision 0.0001ms,0.0001%",
        rng.random::<u16>()
    );
    let script = match fault {
        Fault::DiskFull => format!(
            "mount -t tmpfs -o size={}k none {out}; {sweep}; code=$?; cp -a {out} {out}.copy; exit $code",
            rng.random_range(60..400)
        ),
        Fault::FilesLimited => format!("ulimit -f {}; exec {sweep}", rng.random_range(4..80)),
        _ => format!("exec {sweep}"),
    };
    if matches!(fault, Fault::SignalInBuild(_)) {
        return bench.endless_build().spawn().unwrap();
    }
    fs::create_dir_all(bench.out()).unwrap();
    let mut command = bench::with_default_signals();
    if matches!(fault, Fault::DiskFull) {
        command.args(["unshare", "-m"]);
    }
    command.args(["sh", "-c", &script]);
    bench.prepare(&mut command);
    command.spawn().unwrap()
}

/// Does it, if there is anything to do it to.
fn inject(fault: Fault, bench: &Bench, sweep: &Child, rng: &mut StdRng) -> bool {
    let victim = |verb: &str, rng: &mut StdRng| {
        let wanted = format!(" {verb} ");
        let found = bench.processes().into_iter();
        let found = found.filter(|(_, command)| format!("{command} ").contains(&wanted));
        let found: Vec<i32> = found.map(|(pid, _)| pid).collect();
        found.choose(rng).copied()
    };
    let send = |pid: i32, signal: Signal| kill(Pid::from_raw(pid), signal).is_ok();
    match fault {
        Fault::Kill(verb) => {
            victim(verb, rng).is_some_and(|process| send(process, Signal::SIGKILL))
        }
        Fault::Stop(verb) => victim(verb, rng).is_some_and(|process| {
            let stopped = send(process, Signal::SIGSTOP);
            sleep(Duration::from_millis(rng.random_range(100..1500)));
            stopped && send(process, Signal::SIGCONT)
        }),
        Fault::Signal(signal) | Fault::SignalInBuild(signal) => send(pid(sweep), signal),
        Fault::SignalTwice => {
            let once = send(pid(sweep), Signal::SIGTERM);
            sleep(Duration::from_millis(20));
            once && send(pid(sweep), Signal::SIGTERM)
        }
        Fault::Deleted => fs::remove_dir_all(bench.run_dir()).is_ok(),
        Fault::Replaced => {
            let moved = fs::rename(bench.run_dir(), bench.out().join("moved")).is_ok();
            moved && fs::create_dir(bench.run_dir()).is_ok()
        }
        Fault::DiskFull | Fault::FilesLimited => true,
    }
}

/// Ends in time.
fn end(mut sweep: Child, what: &str) -> Output {
    let deadline = Instant::now() + Duration::from_secs(90);
    while sweep.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            let _ = sweep.kill();
            panic!("{what}: it hangs");
        }
        sleep(Duration::from_millis(20));
    }
    bench::finish(sweep)
}

/// Slices must be as long as planned, except in blocks whose tables say that they were late.
fn no_slice_is_too_long(bench: &Bench, what: &str) {
    for run in finished(bench).keys() {
        let plan = json(&run.join("run.json"))["config"]["plan"].clone();
        for block in table(&run.join("blocks.csv")) {
            let tenth_ms = value(&block, "duration_ms") / 10.0;
            if value(&block, "latest_ms") > tenth_ms {
                continue; // It is left out.
            }
            let slices = table(&run.join("slices.csv")).into_iter();
            for slice in slices.filter(|slice| slice["block"] == block["block"]) {
                let turns = value(&slice, "turns");
                let late_ms =
                    value(&slice, "duration_ms") - turns * plan["turn_ms"].as_f64().unwrap();
                assert!(
                    late_ms <= turns * (tenth_ms + 20.0),
                    "{what}: {slice:?} {block:?}"
                );
            }
        }
    }
}

/// Throughput and polls of a finished cell without a budget are those of its tables, without disturbed blocks. This
/// computes them again, with no line of the program's.
fn figures_are_those_of_the_tables(bench: &Bench, what: &str) {
    let summary = table(&bench.run_dir().join("report/summary.csv"));
    for run in finished(bench).keys() {
        let is_used = |block: &bench::Row| {
            let tenth_ms = value(block, "duration_ms") / 10.0;
            let mut long = ["latest_ms", "suspended_ms", "clock_set_ms"].into_iter();
            value(block, "stops_found") == 0.0
                && long.all(|column| value(block, column) <= tenth_ms)
        };
        let mut used = table(&run.join("blocks.csv"));
        used.retain(is_used);
        let slices = table(&run.join("slices.csv")).into_iter();
        let slices: Vec<bench::Row> = slices
            .filter(|slice| slice["pass"] == "compare")
            .filter(|slice| used.iter().any(|block| block["block"] == slice["block"]))
            .collect();
        let sum = |column: &str| slices.iter().map(|slice| value(slice, column)).sum::<f64>();
        let polls: f64 = table(&run.join("sites.csv"))
            .iter()
            .filter(|site| site["site"] == "connection")
            .filter(|site| slices.iter().any(|slice| slice["slice"] == site["slice"]))
            .map(|site| value(site, "polls"))
            .sum();
        let cell = json(&run.join("run.json"))["config"]["cell"].clone();
        for (metric, expected) in [
            ("requests_per_s", sum("requests") / sum("duration_ms") * 1e3),
            ("polls_per_request", polls / sum("requests")),
        ] {
            let found = summary.iter().find(|row| {
                value(row, "payload_bytes") == cell["payload_bytes"].as_f64().unwrap()
                    && row["variant"] == "none"
                    && row["metric"] == metric
                    && ["", "connection"].contains(&row["site"].as_str())
            });
            if used.is_empty() {
                assert!(found.is_none(), "{what}: {metric} of no block");
                continue;
            }
            let found = value(
                found.unwrap_or_else(|| panic!("{what}: no {metric}")),
                "value",
            );
            let is_right = (found / expected - 1.0).abs() < 1e-3;
            assert!(is_right, "{what}: {metric} {found}, not {expected}");
        }
    }
}

/// A report, or one line, never a crash. What is said of a damaged cell is said to be so.
fn report(bench: &Bench, what: &str) -> &'static str {
    let mut command = Command::new(analysis());
    command
        .arg("report")
        .arg(bench.run_dir())
        .args(["--format", "svg"]);
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    match output.status.code() {
        Some(0) => {
            let report = fs::read_to_string(bench.run_dir().join("report/report.md")).unwrap();
            let is_whole = finished(bench).len() == 2;
            let words = [
                "a run failed",
                ": failed: ",
                "a run was cut short",
                "a run was interrupted",
                "a run is invalid",
                ": invalid: ",
                "Cells without a measurement",
            ];
            let names_it = words.iter().any(|word| report.contains(word));
            assert!(is_whole || names_it, "{what}: {report}");
            figures_are_those_of_the_tables(bench, what);
            "report"
        }
        Some(2) => {
            assert_eq!(said.lines().count(), 1, "{what}: {said}");
            "nothing to report"
        }
        code => panic!("{what}: {code:?}: {said}"),
    }
}

fn one(number: u64, seed: u64) -> (String, String) {
    let mut rng = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(number));
    let fault = *FAULTS.choose(&mut rng).unwrap();
    let what = format!("fault {number} of seed {seed}, {fault:?}");
    let bench = Bench::new();
    let before = machine(&bench);
    let sweep = start(&bench, fault, &mut rng);
    // The folder is there when the programs have been looked at, and built.
    let is_in_build = matches!(fault, Fault::SignalInBuild(_));
    let _ = (0..1000).find(|_| {
        sleep(Duration::from_millis(5));
        is_in_build || bench.run_dir().join("manifest.json").exists()
    });
    sleep(Duration::from_millis(rng.random_range(0..4500)));
    let had = finished(&bench);
    let is_hit = inject(fault, &bench, &sweep, &mut rng);
    let output = end(sweep, &what);
    bench.assert_nothing_left();
    assert_eq!(machine(&bench), before, "{what}");
    let said = text(&output.stderr);
    assert!(!said.contains("panicked"), "{what}: {said}");
    let code = output.status.code();
    assert!(
        [None, Some(0), Some(1), Some(130)].contains(&code),
        "{what}: {code:?}: {said}"
    );
    let copy = bench.out().with_extension("copy");
    if copy.exists() {
        fs::remove_dir_all(bench.out()).unwrap();
        fs::rename(copy, bench.out()).unwrap();
    }
    assert!(!is_in_build || !bench.run_dir().exists(), "{what}: {said}");
    let has_folder = !matches!(fault, Fault::Deleted | Fault::Replaced);
    if has_folder {
        let has = finished(&bench);
        let lost = had.iter().find(|(run, row)| has.get(*run) != Some(*row));
        assert!(lost.is_none(), "{what}: {lost:?} is lost: {said}");
    }
    no_slice_is_too_long(&bench, &what);
    let reported = report(&bench, &what);
    let mut outcome = format!(
        "exit {}, {reported}",
        code.map_or("by signal".to_owned(), |code| code.to_string())
    );
    if has_folder && bench.run_dir().join("manifest.json").exists() && rng.random_bool(0.3) {
        let resumed = bench.resume().output().unwrap();
        let said = text(&resumed.stderr);
        assert!(resumed.status.success(), "{what}: resumed: {said}");
        assert_eq!(finished(&bench).len(), 2, "{what}: {said}");
        outcome += ", resumed";
    }
    let name = format!("{fault:?}") + if is_hit { "" } else { ", nothing to hit" };
    (name, outcome)
}

#[test]
fn no_fault_leaves_anything_or_loses_anything() {
    several(2);
}

#[test]
#[ignore = "exhaustive: more faults"]
fn exhaustive_no_fault_leaves_anything_or_loses_anything() {
    several(10);
}

fn several(faults: u64) {
    if !can_run(true) || !nix::unistd::geteuid().is_root() {
        return;
    }
    let number = |name: &str, default| env::var(name).map_or(default, |text| text.parse().unwrap());
    let (faults, seed) = (number("FAULTS", faults), number("FAULT_SEED", 1));
    let mut outcomes: BTreeMap<(String, String), usize> = BTreeMap::new();
    for at in 0..faults {
        *outcomes.entry(one(at, seed)).or_default() += 1;
    }
    for ((fault, outcome), times) in outcomes {
        println!("{times:4}  {fault:40}  {outcome}");
    }
}
