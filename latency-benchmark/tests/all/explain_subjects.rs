//! `--explain` for subjects: each is launched by itself, and stands beside the others in the report.

use crate::bench::{Bench, json, succeeds, table, text, words};

#[test]
fn every_subject_is_explained_but_the_control() {
    let Some(bench) = Bench::near() else { return };
    let arguments = "--peers 1 --rtt 0 --payload 64KiB --max-cell-seconds 1 --turn 100 --repeat 1 \
                     --runtime-setting event_interval=7";
    succeeds(&mut bench.sweep(&words(arguments)));
    let run = bench.run_dir();
    let mut explain = bench.command(&["explain"]);
    let explain = explain
        .arg(&run)
        .args(["--blocks", "1", "--max-cell-seconds", "1"]);
    let output = explain.output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("2 runs explained"), "{said}");
    let about = json(&run.join("explain/explain.json"));
    assert_eq!(
        (&about["variants"], &about["subjects"]),
        (&serde_json::json!([0]), &serde_json::json!([0, 2]))
    );
    let cell = run.join("explain/pl065536_rtt000_n01");
    assert!(!cell.join("s1").exists());
    for (subject, interval) in [(0, None), (2, Some(7))] {
        let launch = cell.join(format!("s{subject}"));
        let config = &json(&launch.join("run.json"))["config"];
        assert_eq!(
            (&config["subject"], &config["beside"]),
            (&subject.into(), &0.into())
        );
        assert_eq!(config["runtime"]["event_interval"].as_u64(), interval);
        let measured = json(&bench.only(&format!("s{subject}-run-1")).join("run.json"));
        let runtime = &measured["config"]["runtime"];
        assert_eq!(runtime["event_interval"].as_u64(), interval);
        assert!(
            table(&launch.join("slices.csv"))
                .iter()
                .any(|slice| slice["pass"] == "normal")
        );
    }
    bench.assert_nothing_left();

    let markdown = bench.report();
    let heading = "| per request | `unchanged runtime` | `event_interval=7` | change |";
    assert!(markdown.contains(heading), "{markdown}");

    let mut explain = bench.command(&["explain"]);
    let output = explain
        .arg(&run)
        .args(["--budget", "muxer=1"])
        .output()
        .unwrap();
    assert_eq!(
        text(&output.stderr),
        "error: --budget muxer=1: subjects are compared without a budget (leave --budget out)\n"
    );
}
