//! Damages runs and reports at random. `report` refuses a damaged run, or gives the figures of the undamaged one, and
//! `verify` notices every change of a report. `FUZZ_SECONDS` says for how long; each seed is one damage.

mod damage;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use std::{env, fs};

use crate::bench::soak::soak;
use crate::bench::{self, Copy, copy, edit, path, seal};
use damage::{Damage, damage, files};
use nix::sys::resource::{UsageWho, getrusage};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use run_format::checksums::of_file;
use tempfile::TempDir;

const FIRST_SEED: u64 = 6438;

/// Damages of runs that were once taken for measurements, or ended the program, and why.
const ONCE_MISSED: [(u64, &str); 1] = [(
    6589,
    "a version of 10,000 letters took more than 10 s to draw",
)];

/// The least that is drawn, since a debug build draws slowly.
const FAST: [&str; 4] = ["--format", "svg", "--picture", "time"];

/// Tries the known seeds, and then others until the time is up. Fails with all that was found.
fn fuzz(known: &[(u64, &str)], mut finds: impl FnMut(u64) -> Result<&'static str, String>) {
    let seconds = env::var("FUZZ_SECONDS").map_or(5, |text| {
        text.parse().expect("FUZZ_SECONDS is a whole number")
    });
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let new = (FIRST_SEED..).take_while(|_| Instant::now() < deadline);
    let (mut ended, mut found) = (BTreeMap::<_, u32>::new(), Vec::new());
    for seed in known.iter().map(|(seed, _)| *seed).chain(new) {
        match finds(seed) {
            Ok(how) => *ended.entry(how).or_default() += 1,
            Err(how) => found.push(format!("seed {seed}: {how}")),
        }
    }
    println!("in {seconds} s: {ended:?}");
    assert!(
        found.is_empty(),
        "{} of them:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Runs the program. An error if it panics, spins or waits for more than 10 s, or takes more than 1 GiB.
fn run(arguments: &[&str]) -> Result<(i32, String), String> {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new("timeout")
        // A busy machine may take long for what takes little of its time.
        .args(["--signal=KILL", "100", "prlimit", "--cpu=10"])
        .arg(env!("CARGO_BIN_EXE_analysis"))
        .args(arguments)
        .output()
        .expect("coreutils and util-linux are there");
    let said = [stdout, stderr]
        .map(|it| String::from_utf8_lossy(&it).into_owned())
        .concat();
    let of_children = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel counts");
    let mib = of_children.max_rss() / 1024;
    if mib > 1024 {
        return Err(format!("{mib} MiB: {said}"));
    }
    match status.code() {
        Some(code @ 0..=2) if !said.contains("panicked") => Ok((code, said)),
        code => Err(format!("it ended with {code:?}: {said}")),
    }
}

/// What is damaged, and its report before.
struct Original {
    folder: TempDir,
    /// The file that the figures are in.
    figures: String,
}

const SUMMARY: &str = "report/summary.csv";

impl Original {
    fn of(fill: impl FnOnce(&Path), options: &[&str]) -> Original {
        let folder = TempDir::new().expect("a folder");
        let dir = folder.path().join("run");
        fill(&dir);
        let ended = run(&[&["report", path(&dir)], options].concat());
        assert_eq!(ended.as_ref().map(|(code, _)| *code), Ok(0), "{ended:?}");
        let figures = fs::read_to_string(dir.join(SUMMARY)).expect("a table");
        Original { folder, figures }
    }

    fn copy(&self) -> TempDir {
        let folder = TempDir::new().expect("a folder");
        copy(self.folder.path(), folder.path());
        folder
    }
}

fn committed(name: &str) -> impl FnOnce(&Path) {
    let from = bench::fixture().with_file_name(name);
    move |to| copy(&from, to)
}

#[test]
fn a_damaged_run_is_refused_or_has_the_same_figures() {
    let explained = |to: &Path| {
        copy(&Copy::explained().dir(), to);
        seal(to);
    };
    let soaked = |to: &Path| {
        copy(soak(1).path(), to);
        edit(&to.join("soak.json"), |text| {
            let sum = of_file(&to.join("soak.csv")).expect("a table");
            text.replace("\"rows\":", &format!("\"sha256\": \"{sum}\", \"rows\":"))
        });
    };
    let originals = [
        (Original::of(soaked, &FAST[..2]), &FAST[..2]),
        (Original::of(committed("fixture"), &FAST), &FAST[..]),
        (Original::of(explained, &FAST), &FAST[..]),
        (
            Original::of(committed("fixture-rr"), &FAST[..2]),
            &FAST[..2],
        ),
    ];
    fuzz(&ONCE_MISSED, |seed| {
        let mut rng = StdRng::seed_from_u64(seed);
        let (original, options) = &originals[rng.random_range(0..originals.len())];
        let folder = original.copy();
        let dir = folder.path().join("run");
        fs::remove_dir_all(dir.join("report")).expect("a report");
        let Damage {
            how,
            is_contradicted,
        } = damage(&mut rng, &files(&dir));
        let is_sealed = rng.random_bool(0.5);
        if is_sealed {
            seal(&dir);
        }
        let judged =
            run(&[&["report", path(&dir)], *options].concat()).and_then(
                |(code, said)| match code {
                    0 if is_contradicted => {
                        Err("it passes, though other tables contradict it".to_owned())
                    }
                    _ => judge(original, &dir, is_sealed, (code, said)),
                },
            );
        judged.map_err(|why| format!("{how}, sealed {is_sealed}: {why}"))
    });
}

/// A change that was sealed again can be one that no table contradicts. Its figures are at least such as a run can have.
fn judge(
    original: &Original,
    dir: &Path,
    is_sealed: bool,
    (code, said): (i32, String),
) -> Result<&'static str, String> {
    if code != 0 {
        return match said.lines().count() {
            1 if code == 2 => Ok("refused"),
            _ => Err(format!("exit code {code} and not one line: {said}")),
        };
    }
    let figures = fs::read_to_string(dir.join(SUMMARY)).expect("a table");
    let report = fs::read_to_string(dir.join("report/report.md")).expect("a report");
    if figures == original.figures {
        return Ok("same figures");
    }
    if is_sealed {
        return possible(&figures).map(|()| "other figures, sealed again");
    }
    const NAMED: [&str; 1] = ["Without checksums"];
    match NAMED.iter().any(|words| report.contains(words)) {
        true => Ok("named"),
        false => Err("other figures, and no word about it".to_owned()),
    }
}

/// Numbers that are finite, and shares that are shares.
fn possible(figures: &str) -> Result<(), String> {
    let mut reader = csv::Reader::from_reader(figures.as_bytes());
    let headers = reader.headers().expect("a header").clone();
    let column = |name| headers.iter().position(|it| it == name);
    let (metric, value) = (column("metric"), column("value"));
    for row in reader.records() {
        let row = row.expect("a row");
        let numbers = row.iter().filter_map(|field| field.parse::<f64>().ok());
        let is_share = metric.is_some_and(|at| row[at].ends_with("_percent"));
        let value = value.and_then(|at| row[at].parse::<f64>().ok());
        let most = if is_share { 100.0 } else { f64::MAX };
        if numbers.clone().any(|it| !it.is_finite())
            || value.is_some_and(|it| !(0.0..=most).contains(&it))
        {
            return Err(format!("a figure that no run can have: {row:?}"));
        }
    }
    Ok(())
}

#[test]
fn a_damaged_report_is_noticed() {
    let original = Original::of(committed("fixture"), &FAST);
    fuzz(&[], |seed| {
        let mut rng = StdRng::seed_from_u64(seed);
        let folder = original.copy();
        let dir = folder.path().join("run");
        let report = dir.join("report");
        let how = damage(&mut rng, &files(&report)).how;
        let same = Command::new("diff")
            .args(["--recursive", "--brief", "--no-dereference"])
            .args([&report, &original.folder.path().join("run/report")])
            .output();
        let is_same = same.expect("diff is there").status.success();
        match run(&["verify", path(&dir)]) {
            Ok((0, _)) if is_same => Ok("nothing was changed"),
            Ok((1 | 2, _)) if !is_same => Ok("noticed"),
            Ok((code, said)) => Err(format!("{how}: exit code {code}: {said}")),
            Err(why) => Err(format!("{how}: {why}")),
        }
    });
}
