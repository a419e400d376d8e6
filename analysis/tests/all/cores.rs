//! What a report says of several workers, and of cells that were measured at the same time.

use std::fs;
use std::path::Path;

use crate::fixture::{self, CELLS, FixtureCopy, analysis, edit, holds, path, set_column};
use serde_json::{Value, json};

fn edit_json(file: &Path, change: impl FnOnce(&mut Value)) {
    edit(file, |text| {
        let mut value = serde_json::from_str(&text).expect("JSON");
        change(&mut value);
        value.to_string()
    });
}

/// A copy with two runs of each cell, which were also measured alone. Alone, runs used this part of their CPU time.
fn beside_others(cpu_time_alone: f64) -> FixtureCopy {
    let copy = FixtureCopy::new();
    edit_json(&copy.dir().join("manifest.json"), |manifest| {
        let place =
            |central, peers| json!({"central": central, "peers": peers, "sharing": "nothing"});
        let places = [place(0, "1"), place(2, "3")];
        manifest["config"]["jobs"] = json!({"places": places, "alone": 4});
        manifest["config"]["repeat"] = json!(2);
    });
    for cell in CELLS {
        let cell = copy.dir().join("cells").join(cell);
        for (name, number, jobs) in [
            ("run-2.alone", 2, 1),
            ("run-1.alone", 1, 1),
            ("run-2", 2, 2),
            ("run-1", 1, 2),
        ] {
            let run = cell.join(name);
            if name != "run-1" {
                fixture::copy(&cell.join("run-1"), &run);
            }
            edit_json(&run.join("run.json"), |row| {
                row["config"]["run"] = json!(number);
                row["config"]["jobs"] = json!(jobs);
            });
            if jobs == 1 && cpu_time_alone < 1.0 {
                set_column(&run.join("slices.csv"), "central_cpu_ns", |row| {
                    let ns: f64 = row["central_cpu_ns"].parse().expect("a number");
                    Some(((ns * cpu_time_alone) as u64).to_string())
                });
            }
        }
    }
    copy
}

#[test]
fn the_report_says_whether_cells_at_the_same_time_disturb_each_other() {
    for (cpu_time_alone, says) in [
        (
            1.0,
            "Cells do not disturb each other by more than the limit.",
        ),
        (
            0.8,
            "**Cells disturb each other by more than the limit: CPU time per request.",
        ),
    ] {
        let copy = beside_others(cpu_time_alone);
        holds(
            &copy.reported(),
            &[
                "Measured: 4 runs at most 2 at a time.",
                "- central alone on core 2, peers and delay line on core 3",
                "4 runs were also measured alone, with 2 jobs at other times.",
                says,
            ],
        );
        analysis(["verify", path(&copy.dir())]).succeeds();
    }
    let copy = beside_others(0.8);
    holds(&copy.reported(), &["| CPU time per request | +25"]);
    fs::remove_dir_all(copy.dir().join("cells/pl065536_rtt000_n02/run-1.alone"))
        .expect("it is there");
    holds(&copy.reported(), &["There are too few pairs to say"]);
}

/// Adds a table of workers, which share the polls of the connections.
pub(crate) fn with_workers(copy: &FixtureCopy) {
    let sites = fs::read_to_string(copy.run_file("sites.csv")).expect("a table");
    let polls = sites.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[1] == "connection").then(|| {
            (
                fields[0].to_owned(),
                fields[2].parse::<u64>().expect("polls"),
            )
        })
    });
    let rows = polls.map(|(slice, polls)| {
        format!(
            "{slice},0,2-3,0,0,0,5,5\n{slice},1,2,{},0,9,5,5\n{slice},2,3,1,1,9,5,5\n",
            polls - 1
        )
    });
    let rows: String = rows.collect();
    let header = "slice,worker,cores,polls,slow_polls,poll_ns,cpu_ns,runqueue_ns\n";
    fs::write(copy.run_file("workers.csv"), format!("{header}{rows}")).expect("a copy");
}

#[test]
fn what_each_worker_did_is_shown_and_has_to_be_all() {
    let copy = FixtureCopy::new();
    with_workers(&copy);
    holds(
        &copy.reported(),
        &[
            "Central's workers",
            "| main | 2-3 | 0 |",
            "| worker 2 | 3 | 5 | 100 % |",
        ],
    );
    analysis(["verify", path(&copy.dir())]).succeeds();
    copy.replace("workers.csv", ",2,3,1,1,", ",2,3,7,1,");
    copy.report(&[])
        .refuses(&["the polls of all workers are not those of its connections"]);
}
