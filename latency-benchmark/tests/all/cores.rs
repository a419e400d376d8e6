//! Several workers, each on a core of its own, and cells that are measured at the same time. `.ci/netem-in-qemu` runs this
//! on eight virtual cores.

use std::collections::BTreeSet;

use nix::sys::signal::Signal;

use crate::bench::{self, Bench, holds, json, number, succeeds, table, text};

/// A bench on eight cores. If there are fewer, the test is skipped: `.ci/netem-in-qemu` has enough for it.
fn on_eight_cores() -> Option<Bench> {
    const WANTED: usize = 8;
    let there = lab::Topology::for_this_process().unwrap();
    let there = there.available().count();
    if there < WANTED {
        println!("skipped: missing {WANTED} cores, this machine has {there}");
        return None;
    }
    Bench::near()
}

#[rustfmt::skip]
const CELL: [&str; 6] = [
    "--rtt", "0", "--budget", "none", "--budget", "muxer=1/deferred",
];

#[test]
fn every_worker_has_a_core_of_its_own() {
    let Some(bench) = on_eight_cores() else {
        return;
    };
    let mut sweep = bench.sweep(&bench::SMALL);
    succeeds(sweep.args(CELL).args(["--workers", "4"]));
    let run = bench.only("run-1");
    let placement = &json(&run.join("run.json"))["config"]["lab"]["placement"];
    let workers = table(&run.join("workers.csv"));
    let cores = |worker: &str| {
        let rows = workers.iter().filter(|row| row["worker"] == worker);
        let cores: BTreeSet<&str> = rows.map(|row| &*row["cores"]).collect();
        assert_eq!(cores.len(), 1, "{cores:?}");
        cores.into_iter().next().unwrap().to_owned()
    };
    let single: BTreeSet<usize> = ["1", "2", "3", "4"]
        .map(|worker| cores(worker).parse().expect("one core"))
        .into();
    assert_eq!(single.len(), 4, "no two workers share a core");
    assert_eq!(
        placement["workers"],
        cores("0"),
        "the main thread may use all of them"
    );
    let all: run_format::Cores = cores("0").parse().unwrap();
    assert_eq!(all.iter().collect::<BTreeSet<_>>(), single);
    assert_eq!(placement["sharing"], "nothing");
    let busy = workers.iter().filter(|row| number(row, "polls") > 0);
    let busy: BTreeSet<&str> = busy.map(|row| &*row["worker"]).collect();
    assert!(busy.len() > 1 && !busy.contains("0"), "{busy:?}");
}

#[test]
fn every_peer_has_a_core_of_its_own() {
    let Some(bench) = on_eight_cores() else {
        return;
    };
    let mut command = bench.sweep(&["--peers", "5", "--payload", "4KiB", "--turn", "100"]);
    command.args(CELL).args(["--max-cell-seconds", "60"]);
    let sweep = command.spawn().unwrap();
    bench.wait_for("peer", 4);
    let processes = bench.processes().into_iter();
    let peers = processes.filter(|(_, command)| command.contains(" peer"));
    let cores: BTreeSet<usize> = peers.map(|(process, _)| only_core(process)).collect();
    assert_eq!(cores.len(), 5, "no two peers share a core: {cores:?}");
    bench::signal(bench::pid(&sweep), Signal::SIGINT);
    bench::finish(sweep);
    bench.assert_nothing_left();
}

fn only_core(process: i32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().parse().expect("one core")
}

#[test]
fn every_job_has_cores_of_its_own() {
    let Some(bench) = on_eight_cores() else {
        return;
    };
    let mut sweep = bench.sweep(&["--peers", "1,2,3", "--payload", "4KiB", "--turn", "100"]);
    sweep.args(["--max-cell-seconds", "1", "--seed", "1", "--no-aa"]);
    succeeds(sweep.args(CELL).args(["--jobs", "3"]));
    bench.assert_nothing_left();
    let manifest = json(&bench.run_dir().join("manifest.json"));
    let places = manifest["config"]["jobs"]["places"].as_array().unwrap();
    assert_eq!(places.len(), 3);
    let mut taken = BTreeSet::new();
    for place in places {
        let peers: run_format::Cores = place["peers"].as_str().unwrap().parse().unwrap();
        let central = place["central"].as_u64().unwrap() as usize;
        for core in peers.iter().chain([central]) {
            assert!(taken.insert(core), "no two jobs share core {core}");
        }
    }
    let (beside, alone) = (bench.runs("run-1"), bench.runs("run-1.alone"));
    assert_eq!(
        (beside.len(), alone.len()),
        (3, 3),
        "with so few, every run is paired"
    );
    let mut used = BTreeSet::new();
    for (beside, alone) in beside.iter().zip(&alone) {
        let [beside, alone] = [beside, alone].map(|run| json(&run.join("run.json")));
        assert_eq!(
            (&beside["status"], &alone["status"]),
            (&"ok".into(), &"ok".into())
        );
        assert_eq!(
            (&beside["config"]["jobs"], &alone["config"]["jobs"]),
            (&3.into(), &1.into())
        );
        let place = &beside["config"]["lab"]["placement"];
        assert_eq!(*place, alone["config"]["lab"]["placement"]);
        assert!(places.contains(place));
        used.insert(place["central"].as_u64());
    }
    assert_eq!(used.len(), 3, "every job measured a cell");
}

#[test]
fn with_too_few_cores_cells_are_measured_one_after_the_other() {
    let bench = Bench::new();
    let cores = lab::Topology::for_this_process().unwrap();
    let jobs = cores.available().count().to_string();
    let output = succeeds(&mut bench.sweep(&["--dry-run", "--jobs", &jobs]));
    let amiss = format!("--jobs {jobs}: the {jobs} cores of this machine are enough for");
    assert!(
        text(&output.stderr).contains(&amiss),
        "{}",
        text(&output.stderr)
    );
    let auto = bench
        .sweep(&["--dry-run", "--jobs", "auto"])
        .output()
        .unwrap();
    let is_several = text(&auto.stdout).contains("runs at a time");
    assert_eq!(is_several, cores.places(1, usize::MAX).unwrap().len() > 1);
}

#[test]
fn with_too_few_cores_workers_share_them_and_the_report_says_so() {
    let Some(bench) = Bench::near() else { return };
    // One more than any machine can give.
    let workers = lab::Topology::for_this_process().unwrap();
    let workers = (workers.available().count() + 1).to_string();
    let mut sweep = bench.sweep(&bench::SMALL);
    let output = succeeds(sweep.args(CELL).args(["--workers", &workers]));
    let amiss = format!("here are too few cores: central's {workers} workers share core");
    assert!(
        text(&output.stderr).contains(&amiss),
        "{}",
        text(&output.stderr)
    );
    let run = bench.only("run-1");
    let threads: BTreeSet<String> = table(&run.join("workers.csv"))
        .iter()
        .map(|row| row["worker"].clone())
        .collect();
    assert_eq!(
        threads.len().to_string(),
        (workers.parse::<usize>().unwrap() + 1).to_string()
    );
    let report = bench.report();
    holds(&report, &[&amiss, "same worker: late"]);
}
