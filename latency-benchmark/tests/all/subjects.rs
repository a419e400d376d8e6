//! Sweeps that compare subjects. What needs a whole libp2p besides the one of the lock file is tried by
//! hand, as the README says. Of iroh a checkout of one crate is built.

use std::fs;

use crate::bench::{
    self, Bench, build_program, can_run, holds, json, kill, number, succeeds, table, text, value,
    words,
};
use swarm_patch::package::upstream_manifest;
use swarm_patch::{pristine, sync};

#[rustfmt::skip]
const SMALL: [&str; 14] = [
    "--peers", "1", "--rtt", "0", "--payload", "4KiB", "--max-cell-seconds", "1", "--turn", "100", "--seed", "1",
    "--subject", "released",
];

#[test]
fn subjects_are_alive_together_and_take_turns() {
    let Some(bench) = Bench::near() else { return };
    let mut sweep = bench.sweep(&SMALL);
    succeeds(sweep.args(["--repeat", "2", "--peers-subject", "same"]));
    bench.assert_nothing_left();
    let names = ["s0-run-1", "s0-run-2", "s1-run-1", "s1-run-2"];
    for (name, (subject, block)) in names.into_iter().zip([(0, 1), (0, 2), (1, 1), (1, 2)]) {
        let run = bench.only(name);
        let row = json(&run.join("run.json"));
        assert_eq!(row["status"], "ok");
        assert_eq!(row["config"]["subject"], subject);
        assert_eq!(row["config"]["run"], block);
        assert_eq!(row["config"]["beside"], 1);
        // Between its turns are those of the other one.
        let slices = table(&run.join("slices.csv"));
        let own: f64 = slices.iter().map(|row| value(row, "duration_ms")).sum();
        let starts = slices.iter().map(|row| value(row, "start_ms"));
        let whole = starts.clone().fold(0.0, f64::max) - starts.fold(f64::MAX, f64::min);
        assert!(whole > 1.5 * own, "{name}: {whole} ms, {own} ms");
    }
    assert_eq!(bench.runs("run-1").len(), 0);
    let manifest = json(&bench.run_dir().join("manifest.json"));
    let subjects = manifest["config"]["subjects"].as_array().unwrap();
    assert_eq!(subjects.len(), 2);
    assert_eq!(subjects[0]["role"], "baseline");
    assert_eq!(subjects[1]["role"], "control");
    assert_eq!(
        (&subjects[0]["peers"], &subjects[1]["peers"]),
        (&0.into(), &1.into())
    );
    assert_eq!(subjects[1]["libp2p"]["kind"], "released");
    assert!(subjects[1]["build"].is_null(), "it is this program");
    assert_eq!(manifest["config"]["variants"].as_array().unwrap().len(), 1);

    // What is there is not measured again.
    let run = bench.only("s1-run-2");
    fs::remove_dir_all(run).unwrap();
    let output = bench.resume().output().unwrap();
    let said = text(&output.stderr);
    assert!(
        output.status.success() && said.contains("2 runs measured"),
        "{said}"
    );
    assert!(said.contains("run 2, released (A/A)"), "{said}");
    assert_eq!(bench.runs("s1-run-2").len(), 1);
    assert_eq!(bench.runs("s0-run-2.replaced-1").len(), 1);

    let markdown = bench.report();
    holds(&markdown, &["2 launches of each program and "]);
}

#[test]
fn a_subject_that_dies_does_not_cost_the_others_their_turns() {
    let Some(bench) = Bench::near() else { return };
    let sweep = bench.sweep(&words(
        "--peers 1 --rtt 0 --payload 4KiB --max-cell-seconds 3 --turn 100 --repeat 1 \
         --runtime-setting event_interval=7",
    ));
    let sweep = { sweep }.spawn().unwrap();
    bench::rows_of(|| Some(bench.runs("s0-run-1.partial").first()?.join("slices.csv")));
    kill(bench.wait_for("central", 2));
    let output = bench::finish(sweep);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    holds(&said, &["2 runs measured, 0 invalid, 1 failed"]);
    bench.assert_nothing_left();
}

#[test]
fn a_subject_that_fails_twice_in_a_cell_is_not_tried_again() {
    let Some(bench) = Bench::near() else { return };
    let node = bench.with_node("central", "exit 3");
    let mut sweep = bench.sweep(&words(
        "--peers 1 --rtt 0 --payload 4KiB --max-cell-seconds 3 --turn 100 --repeat 4 \
         --runtime-setting event_interval=7 --node",
    ));
    let output = sweep.arg(node).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let tried = said.matches("FAILED while connecting: central ended with exit code 3");
    // Two subjects and the copy of the first, twice each.
    assert_eq!(tried.count(), 6, "{said}");
    for subject in 0..3 {
        let run = bench.only(&format!("s{subject}-run-4"));
        let reason = "not tried again, since two launches of this cell had failed";
        assert_eq!(json(&run.join("run.json"))["reason"], reason);
    }
}

#[test]
fn a_budget_for_a_site_that_cannot_be_bounded_is_refused() {
    let bench = Bench::new();
    let folder = bench.dir.path().join("checkout");
    let poll = "impl Connection {\n    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {\n        self.muxer.poll(cx)\n    }\n}\n";
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("Cargo.toml"),
        "[workspace]\nmembers = [\"*\"]\n",
    )
    .unwrap();
    for (package, file, text) in [
        ("libp2p", "lib.rs", ""),
        ("libp2p-stream", "lib.rs", ""),
        ("libp2p-swarm", "connection.rs", poll),
    ] {
        let dir = folder.join(package);
        fs::create_dir_all(dir.join("src")).unwrap();
        let manifest =
            format!("[package]\nname = \"{package}\"\nversion = \"0.57.0\"\nedition = \"2024\"\n");
        fs::write(dir.join("Cargo.toml"), manifest).unwrap();
        fs::write(dir.join("src/lib.rs"), "").unwrap();
        fs::write(dir.join("src").join(file), text).unwrap();
    }
    let mut sweep = bench.sweep(&["--budget", "none", "--budget", "connection=8"]);
    let output = sweep
        .args(["--subject", "released", "--subject"])
        .arg(&folder)
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let complaint = "error: --budget connection=8: the site connection of checkout cannot be bounded: libp2p-swarm 0.57.0, \
                     src/connection.rs, Connection::poll: looked for a loop that polls, found none in the function in line 2\n";
    assert!(said.ends_with(complaint), "{said}");
    assert!(!bench.out().exists());
}

#[test]
fn a_subject_that_is_not_as_expected_fails_before_anything_is_written() {
    let bench = Bench::new();
    let folder = bench.dir.path().join("checkout");
    let manifest = "[package]\nname = \"libp2p-swarm\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("src/lib.rs"), "").unwrap();
    fs::write(folder.join("src/connection.rs"), "").unwrap();
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let mut sweep = bench.sweep(&["--subject", "released", "--subject"]);
    let output = sweep.arg(&folder).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let complaint = said.lines().find(|line| line.starts_with("error: "));
    let says = "looked for one function Connection::poll, found none";
    assert!(complaint.unwrap().contains(says), "{said}");
    assert!(!bench.out().exists());
}

#[test]
#[ignore = "exhaustive: builds another stack"]
fn exhaustive_a_checkout_of_another_stack_is_built_measured_and_named() {
    if !can_run(false) {
        return;
    }
    build_program("iroh-node");
    let bench = Bench::new();
    let checkout = bench.dir.path().join("checkout");
    let complain = |subject: &str| {
        let mut sweep = bench.sweep(&SMALL);
        let sweep = sweep.args(["--stack", "iroh", "--subject", subject]);
        let output = sweep.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    fs::create_dir_all(checkout.join("src")).unwrap();
    fs::write(checkout.join("Cargo.toml"), "[package]\nname = \"h2\"\n").unwrap();
    let path = checkout.display().to_string();
    let only_libp2p = "released@VERSION and +BUDGET are for libp2p only (accepted with --stack iroh: released, PATH or";
    for (subject, says) in [
        (
            &*path,
            "there is no package iroh or noq or iroh-gossip in it",
        ),
        ("released@1.0", only_libp2p),
    ] {
        let said = complain(subject);
        let expected = format!("error: --subject {subject}: {says}");
        assert!(said.starts_with(&expected), "{said}");
    }

    let pristine = pristine::find(&upstream_manifest(), &["noq"]).unwrap();
    sync::folder(&pristine[0].dir, &checkout).unwrap();
    fs::remove_file(checkout.join(".cargo-ok")).unwrap();
    let bounded = checkout.join("src/connection.rs");
    let text_of_it = fs::read_to_string(&bounded).unwrap();
    let bound = "MAX_TRANSMIT_DATAGRAMS: usize = ";
    assert!(text_of_it.contains(bound));
    fs::write(&bounded, text_of_it.replace(bound, &format!("{bound}1 + "))).unwrap();
    let mut sweep = bench.sweep(&SMALL);
    let sweep = sweep.args(["--stack", "iroh", "--repeat", "1", "--no-aa", "--subject"]);
    let budgets = ["--budget", "none", "--budget", "quic-connection=1/deferred"];
    succeeds(sweep.arg(&checkout).args(budgets));

    let manifest = json(&bench.run_dir().join("manifest.json"));
    let subject = &manifest["config"]["subjects"][1];
    assert_eq!(subject["label"], "checkout");
    let noq = subject["build"]["crates"].as_array().unwrap();
    let noq = noq.iter().find(|package| package["name"] == "noq").unwrap();
    assert_eq!(
        (&noq["from"], &noq["grafted"]),
        (&"subject".into(), &true.into())
    );
    for (name, subject) in [("s0-run-1", 0), ("s1-run-1", 1)] {
        let run = &bench.runs(name)[0];
        let row = json(&run.join("run.json"));
        assert_eq!(row["status"], "ok");
        assert_eq!(row["config"]["subject"], subject);
        let sites = table(&run.join("sites.csv"));
        let quic_sites = sites
            .iter()
            .filter(|site| site["site"] == "quic-connection");
        let yielded: u64 = quic_sites.map(|site| number(site, "yielded")).sum();
        assert!(yielded > 0, "{name}: its budget");
    }
    let markdown = bench.report();
    let sha256 = subject["libp2p"]["tree_sha256"].as_str().unwrap();
    let named = format!("`checkout`: folder {}", &sha256[..12]);
    assert!(markdown.contains(&named), "{markdown}");

    let mut explain = bench.command(&["explain", "--blocks", "1", "--max-cell-seconds", "1"]);
    succeeds(explain.arg(bench.run_dir()));
    let launch = bench.run_dir().join("explain/pl004096_rtt000_n01/s1");
    assert!(!table(&launch.join("allocations.csv")).is_empty());
}

#[test]
#[ignore = "exhaustive: takes a minute"]
fn exhaustive_a_program_that_is_paused_for_longer_than_a_timeout_of_libp2p_goes_on() {
    let Some(bench) = Bench::near() else { return };
    let mut sweep = bench.sweep(&words(
        "--peers 1 --rtt 25 --payload 64KiB --max-cell-seconds 13 --turn 12000 --repeat 1 \
         --runtime-setting event_interval=7 --no-aa",
    ));
    let output = sweep.output().unwrap();
    let said = text(&output.stderr);
    holds(&said, &["2 runs measured, 0 invalid, 0 failed"]);
}
