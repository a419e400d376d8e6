//! Damages runs and reports at random. `report` refuses a damaged run, or gives the figures of the undamaged one, and
//! `verify` notices every change of a report. `FUZZ_TRIES` says how many are tried; each seed is one damage.

mod damage;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs};

use crate::application::application;
use crate::columns::QUIC;
use crate::fixture::soak::soak;
use crate::fixture::{self, FixtureCopy, RUN, copy, edit, path, possible, seal, search_of};
use damage::{Damage, damage, files};
use nix::sys::resource::{UsageWho, getrusage};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use run_format::checksums::sha256_of_file;
use tempfile::TempDir;

const FIRST_SEED: u64 = 6438;

/// Seeds of damages that the program once accepted or could not handle, and why.
const ONCE_MISSED: [(u64, &str); 2] = [
    (
        6589,
        "a version of 10,000 letters took more than 10 s to draw",
    ),
    (
        10198,
        "an application's variant had another name than its budgets",
    ),
];

/// Options that draw little, because a debug build draws slowly.
const FAST: [&str; 2] = ["--format", "svg"];

/// How many seeds the tests of chance try.
pub(crate) fn tries() -> usize {
    const FEW: usize = 25;
    env::var("FUZZ_TRIES").map_or(FEW, |text| {
        text.parse().expect("FUZZ_TRIES is a whole number")
    })
}

/// Tries the known seeds, and then others. Fails with all that was found.
fn fuzz(known: &[(u64, &str)], finds: impl Fn(u64) -> Result<&'static str, String> + Sync) {
    let new = (FIRST_SEED..).take(tries());
    let seeds: Vec<u64> = known.iter().map(|(seed, _)| *seed).chain(new).collect();
    let tried: Vec<_> = (seeds.into_par_iter())
        .map(|seed| (seed, finds(seed)))
        .collect();
    let (mut ended, mut found) = (BTreeMap::<_, u32>::new(), Vec::new());
    for (seed, outcome) in tried {
        match outcome {
            Ok(how) => *ended.entry(how).or_default() += 1,
            Err(how) => found.push(format!("seed {seed}: {how}")),
        }
    }
    println!("{ended:?}");
    assert!(
        found.is_empty(),
        "{} of them:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Runs the program. Returns an error if it panics, computes for more than 10 s, hangs, or needs more than 1 GiB.
pub(crate) fn run(arguments: &[&str]) -> Result<(i32, String), String> {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new("timeout")
        // On a busy machine little CPU time can take long.
        .args(["--signal=KILL", "100", "prlimit", "--cpu=10"])
        .arg(env!("CARGO_BIN_EXE_analysis"))
        .args(arguments)
        .output()
        .expect("coreutils and util-linux are there");
    let said = [stdout, stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
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

/// A folder to damage, and the figures that its report had before.
struct Original {
    folder: TempDir,
    /// The content of `summary.csv`.
    figures: String,
}

const SUMMARY: &str = "report/summary.csv";

impl Original {
    fn report(fill: impl FnOnce(&Path), options: &[&str]) -> Original {
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

/// The folder of a gate. No verb of the analysis reads one.
fn counted() -> Original {
    const COUNTS: &str = "cell,program,attempt,kind,site,child,count,requests\n\
        \"memory, plaintext, stream, N=1, 16 KiB\",base,1,polls,muxer,own code,8,4\n\
        \"memory, plaintext, stream, N=1, 16 KiB\",head,1,polls,muxer,own code,9,4\n";
    let folder = TempDir::new().expect("a folder");
    let dir = folder.path().join("run");
    fs::create_dir_all(dir.join("report")).expect("a folder");
    fs::write(dir.join("counts.csv"), COUNTS).expect("a table");
    fs::write(dir.join("gate.md"), "**No count changed**, in 1 cell.\n").expect("a report");
    let figures = String::new();
    Original { folder, figures }
}

fn committed(name: &str) -> impl FnOnce(&Path) {
    let from = fixture::fixture().with_file_name(name);
    move |to| copy(&from, to)
}

#[test]
fn a_damaged_run_is_refused_or_has_the_same_figures() {
    let explained = |to: &Path| {
        copy(&FixtureCopy::explained().dir(), to);
        seal(to);
    };
    let soaked = |to: &Path| {
        copy(soak(1).path(), to);
        edit(&to.join("soak.json"), |text| {
            let sum = sha256_of_file(&to.join("soak.csv")).expect("a table");
            text.replace("\"rows\":", &format!("\"sha256\": \"{sum}\", \"rows\":"))
        });
    };
    let searched = |to: &Path| {
        committed("fixture")(&to.join("round-1"));
        search_of(to);
    };
    let of_quic = |to: &Path| {
        committed("fixture")(to);
        fs::write(to.join(RUN).join("quic.csv"), QUIC).expect("a table");
        seal(to);
    };
    let of_application = |to: &Path| copy(&application(&FixtureCopy::new()), to);
    let originals = [
        (Original::report(searched, &FAST), &FAST[..]),
        (Original::report(of_quic, &FAST), &FAST[..]),
        (Original::report(of_application, &FAST), &FAST[..]),
        (Original::report(soaked, &FAST[..2]), &FAST[..2]),
        (Original::report(committed("fixture"), &FAST), &FAST[..]),
        (Original::report(explained, &FAST), &FAST[..]),
        (
            Original::report(committed("fixture-rr"), &FAST[..2]),
            &FAST[..2],
        ),
        (counted(), &FAST[..]),
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

/// Judges how `report` ended. If the damaged folder was sealed again, there may be no table that contradicts the damage. Then
/// the figures have to be possible ones.
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
        return possible(&dir.join("report")).map(|()| "other figures, sealed again");
    }
    const NAMED: [&str; 1] = ["Without checksums"];
    match NAMED.iter().any(|words| report.contains(words)) {
        true => Ok("named"),
        false => Err("other figures, and no word about it".to_owned()),
    }
}

#[test]
fn a_damaged_report_is_noticed() {
    let original = Original::report(committed("fixture"), &FAST);
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
