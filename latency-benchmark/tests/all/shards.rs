//! The shards of a sweep, measured one by one and merged, are the sweep.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::bench::{self, Bench, analysis, complaint, eventually, json, kill, pid, succeeds};
use program::wait_within;

#[rustfmt::skip]
const GRID: [&str; 16] = [
    "--peers", "1,2", "--rtt", "0", "--payload", "4KiB,16KiB", "--max-cell-seconds", "1", "--turn", "20", "--budget",
    "none", "--budget", "connection=8", "--seed", "7",
];

fn shard(bench: &Bench, index: u32) -> Command {
    let mut command = bench.sweep(&GRID);
    command.args(["--shard", &format!("{index}/2")]);
    command
}

fn shard_dir(bench: &Bench, index: u32) -> PathBuf {
    bench.out().join(format!("run-shard-{index}-of-2"))
}

fn run_analysis(arguments: &[&Path]) {
    succeeds(Command::new(analysis()).args(arguments));
}

/// The files of each run of a sweep, with the run's seed.
fn runs(dir: &Path) -> BTreeMap<PathBuf, (Vec<String>, u64)> {
    let mut runs = BTreeMap::new();
    for cell in fs::read_dir(dir.join("cells")).unwrap().flatten() {
        for run in fs::read_dir(cell.path()).unwrap().flatten() {
            let files = fs::read_dir(run.path()).unwrap().flatten();
            let mut files: Vec<String> = files
                .map(|entry| entry.file_name().into_string().unwrap())
                .collect();
            files.sort();
            let seed = json(&run.path().join("run.json"))["config"]["seed"].as_u64();
            let name = run.path().strip_prefix(dir).unwrap().to_owned();
            runs.insert(name, (files, seed.unwrap()));
        }
    }
    runs
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name != ".lock")
        .collect();
    names.sort();
    names
}

#[test]
fn two_shards_merged_have_the_structure_of_the_whole_sweep() {
    let Some(bench) = Bench::near() else { return };
    succeeds(&mut bench.sweep(&GRID));
    for index in [1, 2] {
        succeeds(&mut shard(&bench, index));
        assert_eq!(runs(&shard_dir(&bench, index)).len(), 2);
    }
    let merged = bench.out().join("merged");
    let [one, two] = [1, 2].map(|index| shard_dir(&bench, index));
    let verb = Path::new("merge");
    let out = Path::new("--out");
    run_analysis(&[verb, &one, &two, out, &merged]);
    assert_eq!(runs(&merged), runs(&bench.run_dir()));
    assert_eq!(names(&merged), names(&bench.run_dir()));
    let config = |dir: &Path| json(&dir.join("manifest.json"))["config"].clone();
    assert_eq!(config(&merged), config(&bench.run_dir()));
    for verb in ["report", "verify"] {
        run_analysis(&[Path::new(verb), &merged]);
    }
}

#[test]
fn a_killed_shard_goes_on_when_it_is_started_again() {
    let Some(bench) = Bench::near() else { return };
    let killed = shard(&bench, 1).spawn().unwrap();
    let dir = shard_dir(&bench, 1);
    let first = eventually("a finished run", || {
        let cells = fs::read_dir(dir.join("cells")).ok()?.flatten();
        let mut runs = cells.map(|cell| cell.path().join("run-1/run.json"));
        runs.find(|row| row.is_file())
    });
    kill(pid(&killed));
    bench::finish(killed);
    let finished = fs::read(&first).unwrap();
    let other = shard(&bench, 1).args(["--repeat", "2"]).output().unwrap();
    assert!(complaint(&other).contains("was begun with other options"));
    // The task that had the shard before may not have ended yet.
    let lock = fs::File::open(dir.join(".lock")).unwrap();
    lock.lock().unwrap();
    let mut again = shard(&bench, 1).spawn().unwrap();
    let mut said = BufReader::new(again.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("waiting for another sweep")));
    lock.unlock().unwrap();
    let ended = wait_within(&mut again, Duration::from_secs(180)).unwrap();
    assert!(ended.is_some_and(|status| status.success()));
    assert_eq!(fs::read(&first).unwrap(), finished);
    assert_eq!(names(&dir.join("cells")).len(), 2);
}
