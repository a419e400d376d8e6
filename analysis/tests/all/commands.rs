//! Random command lines: each ends with success or with one line about wrong input.

use std::path::Path;

use crate::fixture::{FixtureCopy, path, soak::soak};
use crate::fuzz::{run, tries};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

#[rustfmt::skip]
const VERBS: [&str; 10] = [
    "report", "comment", "verdict", "page", "compare", "export", "verify", "next-round", "merge", "reprot",
];
#[rustfmt::skip]
const OPTIONS: [&str; 8] = [
    "--threshold", "--site", "--margin", "--metric", "--budget", "--format", "--link-base", "--nothing",
];
/// Values that some option accepts, and values that none accepts.
const VALUES: [&str; 28] = [
    "50us",
    "1ns",
    "10s",
    "0us",
    "-1us",
    "1e300s",
    "NaN",
    "",
    " ",
    "connection",
    "muxer",
    "quic-endpoint",
    "moon",
    "cpu=2%",
    "late=1pp",
    "cpu=",
    "=",
    "cpu=1e99%",
    "slow_percent",
    "beyond_ms_per_s",
    "none",
    "muxer=1/deferred",
    "time",
    "budgets",
    "svg",
    "svg,svg",
    "https://example.org/a",
    "\u{1b}[2J\u{202e}",
];

#[test]
fn a_command_line_succeeds_or_is_refused_in_one_line() {
    let (copy, soak) = (FixtureCopy::new(), soak(1));
    let (sweep, nowhere) = (copy.dir(), copy.beside("nowhere"));
    let folders = [&sweep, soak.path() as &Path, &nowhere, Path::new("")].map(path);
    let out = copy.beside("out");
    let mut wrong = Vec::new();
    for seed in 0..tries() as u64 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut arguments = vec![*VERBS.choose(&mut rng).expect("a verb")];
        // Most lines should be right up to their values.
        for _ in 0..*[1, 1, 1, 2, 0].choose(&mut rng).expect("a number") {
            arguments.push(folders[*[0, 0, 0, 1, 2, 3].choose(&mut rng).expect("a number")]);
        }
        for _ in 0..rng.random_range(0..4) {
            arguments.push(OPTIONS.choose(&mut rng).expect("an option"));
            arguments.push(VALUES.choose(&mut rng).expect("a value"));
        }
        if !["verify", "reprot"].contains(&arguments[0]) {
            arguments.extend(["--out", path(&out)]);
        }
        let judged = run(&arguments).and_then(|(code, said)| match code {
            0 => Ok(()),
            // There is no report to verify.
            1 | 2 if said.lines().filter(|line| !line.is_empty()).count() == 1 => Ok(()),
            _ => Err(format!("exit code {code}: {said}")),
        });
        if let Err(why) = judged {
            wrong.push(format!("seed {seed}: {arguments:?}: {why}"));
        }
        let _ = std::fs::remove_dir_all(&out);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
