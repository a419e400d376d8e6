//! The report about explained subjects shows them side by side, and what is left if one fails.

use std::fs;

use crate::fixture::evidence::{self, BUDGET, CELL};
use crate::fixture::{FixtureCopy, edit, holds, links, replace};
use crate::golden::of_subjects;

/// A copy in which the first subject has the [`evidence`] of the baseline, and the second one that of the budget.
fn explained() -> FixtureCopy {
    let copy = of_subjects(1);
    evidence::explain(&copy);
    let about = copy.dir().join("explain/explain.json");
    replace(&about, "[0, 2]", "[0], \"subjects\": [0, 1]");
    let cell = evidence::dir(&copy);
    let files: Vec<_> = fs::read_dir(&cell).expect("a folder").flatten().collect();
    for (subject, variant) in [0, BUDGET].into_iter().enumerate() {
        let launch = cell.join(format!("s{subject}"));
        fs::create_dir(&launch).expect("a folder");
        for file in &files {
            let name = file.file_name().into_string().expect("text");
            let text = fs::read_to_string(file.path()).expect("a file");
            let text = match name.ends_with(".csv") {
                true => evidence::rows_of(variant, &text),
                false => text,
            };
            let text = match &*name {
                "slices.csv" => (1..=evidence::BLOCKS).fold(text, |text, block| {
                    text.replace(&format!(",{block},{variant},"), &format!(",{block},0,"))
                }),
                "run.json" => {
                    let text = text.replacen("\"variants\": [0, 2]", "\"variants\": [0]", 1);
                    text.replacen(
                        "\"run\": 1,",
                        &format!("\"run\": 1, \"subject\": {subject},"),
                        1,
                    )
                }
                _ => text,
            };
            fs::write(launch.join(&name), text).expect("a file");
        }
    }
    for file in files {
        fs::remove_file(file.path()).expect("it is there");
    }
    copy
}

#[test]
fn subjects_are_side_by_side() {
    let copy = explained();
    let second = evidence::dir(&copy).join("s1");
    edit(&second.join("allocations.csv"), |text| {
        let text = text.replace(",19000,", ",39000,");
        text.replacen(",39000,", ",40000,", 1)
    });
    let text = copy.reported();
    holds(
        &text,
        &[
            "| innermost frame in slow polls | % of samples, `here@base` | % of samples, `released` |",
            "| `[kernel] sendto` | 40.0 | 25.0 |",
            "9.09 % (`here@base`) of the polls",
            "from sampled stacks (the stack of one in 128 objects), of `here@base`:",
            // 27,277 objects for 200 requests in each slice, and 47,277 in all slices but one.
            "| per request | `here@base` | `released` | change |",
            "| allocations in polls | 136 | 237 | +73.9 % [",
            "| bytes of these | 11641 | 11641 | – |",
            "| system calls | 8.50 | 8.50 | – |\n| `sendto` | 6.00 | 6.00 | – |\n| `epoll_wait` | 2.50 | 2.50 | – |",
        ],
    );
    let pictures: Vec<&str> = links(&text).filter(|link| link.ends_with("svg")).collect();
    let slow = [
        "s0-here-base-slow",
        "s1-released-slow",
        "s1-released-slow-difference",
    ];
    for name in slow {
        let file = format!("explain/{CELL}.{name}.svg");
        assert!(pictures.contains(&&*file), "{file}: {pictures:?}");
    }
    // 120 of 480 samples, and 240 of 600.
    holds(
        &copy.explain_file(&format!("{CELL}.s1-released-slow-difference.svg")),
        &["<title>[kernel] sendto (120 samples, 25.00%; -15.00%)</title>"],
    );
    let worst = copy.explain_file(&format!("{CELL}.worst.csv"));
    let rows_of = |label: &str| worst.lines().filter(|line| line.starts_with(label)).count();
    assert_eq!(
        (rows_of("here@base,"), rows_of("released,")),
        (3, 3),
        "{worst}"
    );
}

#[test]
fn a_finding_names_its_subject() {
    let copy = explained();
    let second = evidence::dir(&copy).join("s1");
    edit(&second.join("activity.csv"), |text| {
        text.replace(",dials,0,", ",dials,40,")
    });
    holds(
        &copy.reported(),
        &["**redundant-dials** (`pl065536_rtt000_n02`): `released`: Central dials"],
    );
}

#[test]
fn a_subject_without_a_launch_is_a_caveat() {
    let copy = explained();
    let second = evidence::dir(&copy).join("s1");
    edit(&second.join("run.json"), |text| {
        let failed =
            "\"status\": \"failed\", \"stage\": \"wiring the lab\", \"reason\": \"no namespaces\"";
        text.replacen("\"status\": \"ok\"", failed, 1)
    });
    let text = copy.reported();
    holds(
        &text,
        &[
            "the launch of `pl065536_rtt000_n02` of `released` failed: wiring the lab: no namespaces",
            "| `[kernel] sendto` | 40.0 |\n",
        ],
    );
    assert!(!text.contains("difference.svg"), "{text}");
    fs::remove_dir_all(second).expect("it is there");
    holds(
        &copy.reported(),
        &["`pl065536_rtt000_n02` of `released` was chosen but not launched"],
    );
}

#[test]
fn subjects_that_the_sweep_does_not_have_are_refused() {
    let copy = explained();
    let about = copy.dir().join("explain/explain.json");
    replace(&about, "\"subjects\": [0, 1]", "\"subjects\": [0, 2]");
    copy.is_refused(&["explain.json", "subjects are [0, 2]"]);
    let copy = explained();
    let cell = evidence::dir(&copy);
    fs::remove_dir_all(cell.join("s1")).expect("it is there");
    crate::fixture::copy(&cell.join("s0"), &cell.join("s1"));
    copy.is_refused(&["s1/run.json", "another subject"]);
}
