//! Shards of a sweep and sweeps of several hosts become one sweep. Runs that do not belong together are refused.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::{self, ApplicationOutcome, FixtureCopy, analysis, copy, fixture, holds, path};
use run_format::files::{MANIFEST, RUN, read_json, write_json};
use run_format::{Manifest, Pace, RunRow, Shard, plan};

/// A copy of the fixture with a changed manifest, and with only the cells that the manifest then plans.
fn part(beside: &FixtureCopy, name: &str, change: impl FnOnce(&mut Manifest)) -> PathBuf {
    let dir = beside.beside(name);
    copy(&fixture(), &dir);
    let mut manifest: Manifest = read_json(&dir.join(MANIFEST)).unwrap();
    manifest.machine.host = Some("one".to_owned());
    change(&mut manifest);
    write_json(&dir.join(MANIFEST), &manifest).unwrap();
    for cell in manifest.config.axes.cells() {
        if !plan::cells::cells(&manifest.config).contains(&cell) {
            // The fixture does not have every cell that a manifest can plan.
            let _ = fs::remove_dir_all(dir.join("cells").join(cell.id()));
        }
    }
    dir
}

fn shard(beside: &FixtureCopy, index: u32, of: u32) -> PathBuf {
    part(beside, &format!("shard-{index}-of-{of}"), |manifest| {
        manifest.config.shard = Some(Shard { index, of });
        let option = ["--shard".to_owned(), format!("{index}/{of}")];
        manifest.command.splice(2..2, option);
    })
}

fn merge(runs: &[&Path], out: &Path) -> ApplicationOutcome {
    let runs = runs.iter().map(|run| path(run));
    analysis(
        ["merge"]
            .into_iter()
            .chain(runs)
            .chain(["--out", path(out)]),
    )
}

/// Asserts that merging is refused in one line, and that nothing is written.
#[track_caller]
fn is_refused(runs: &[&Path], words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    merge(runs, &folder.path().join("merged")).refuses(words);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

fn rows(dir: &Path) -> Vec<(String, RunRow)> {
    let mut rows: Vec<(String, RunRow)> = Vec::new();
    for cell in fs::read_dir(dir.join("cells")).unwrap().flatten() {
        for run in fs::read_dir(cell.path()).unwrap().flatten() {
            let name = run.file_name().into_string().unwrap();
            rows.push((name, read_json(&run.path().join(RUN)).unwrap()));
        }
    }
    rows.sort_by_key(|(name, row)| (row.cell.clone(), name.clone()));
    rows
}

#[test]
fn two_shards_are_the_whole_sweep() {
    let copy = FixtureCopy::new();
    let shards = [shard(&copy, 2, 2), shard(&copy, 1, 2)];
    let merged = copy.beside("merged");
    let ended = merge(&[&shards[0], &shards[1]], &merged);
    ended.succeeds();
    assert_eq!(ended.err, "");
    holds(&ended.out, &["2 runs from 2 folders"]);
    let manifest: Manifest = read_json(&merged.join(MANIFEST)).unwrap();
    let whole: Manifest = read_json(&fixture().join(MANIFEST)).unwrap();
    assert_eq!(
        (manifest.config, manifest.command),
        (whole.config, whole.command)
    );
    analysis(["report", path(&merged), "--format", "svg"]).succeeds();
    analysis(["verify", path(&merged)]).succeeds();
    // A shard by itself is a sweep of its cells.
    analysis(["report", path(&shards[0]), "--format", "svg"]).succeeds();
    let text = fs::read_to_string(shards[0].join("report/report.md")).unwrap();
    holds(&text, &["Measured cells: 1 of 1", "one of 2 parts"]);
}

#[test]
fn launches_of_several_hosts_are_launches_and_hosts_are_named() {
    let copy = FixtureCopy::new();
    let on = |host: &str, seed: u64| {
        part(&copy, host, |manifest| {
            manifest.machine.host = Some(host.to_owned());
            manifest.config.seed = seed;
        })
    };
    let [one, two] = [on("rack-1", 1), on("rack-2", 2)];
    let merged = copy.beside("merged");
    merge(&[&one, &two], &merged).succeeds();
    let rows = rows(&merged);
    let of_rows: Vec<(&str, u32, &str)> = rows
        .iter()
        .map(|(name, row)| {
            let host = row.machine.as_ref().unwrap().host.as_deref();
            (&**name, row.config.run, host.unwrap())
        })
        .collect();
    let of_cell = [("run-1", 1, "rack-1"), ("run-2", 2, "rack-2")];
    assert_eq!(of_rows, [of_cell, of_cell].concat());
    analysis(["report", path(&merged), "--format", "svg"]).succeeds();
    let text = fs::read_to_string(merged.join("report/report.md")).unwrap();
    holds(
        &text,
        &[
            "on 2 hosts: rack-1, rack-2 (",
            "Measured by several of them: 2 of 2 cells",
            "4 runs and",
        ],
    );
    analysis(["verify", path(&merged)]).succeeds();
}

#[test]
fn runs_that_do_not_belong_together_are_refused_in_one_line() {
    let copy = FixtureCopy::new();
    let [one, two] = [shard(&copy, 1, 2), shard(&copy, 2, 2)];
    let again = copy.beside("again");
    fixture::copy(&two, &again);
    let other = |name: &str, change: fn(&mut Manifest)| {
        part(&copy, name, |manifest| {
            manifest.config.shard = Some(Shard { index: 2, of: 2 });
            change(manifest);
        })
    };
    let program = other("program", |manifest| manifest.tool.sha256 = None);
    let grid = other("grid", |manifest| manifest.config.axes.peers.push(3));
    let options = other("options", |manifest| manifest.config.repeat = 2);
    let schema = other("schema", |manifest| manifest.schema = 7);
    let seed = other("seed", |manifest| manifest.config.seed = 1);
    is_refused(&[&one], &["shard 2 of 2 is missing", path(&one)]);
    is_refused(&[&one, &seed], &["shard 2 of 2 is missing"]);
    is_refused(
        &[&one, &two, &again],
        &["shard 2 of 2 is there twice", path(&two), path(&again)],
    );
    is_refused(&[&one, &program], &["different programs", path(&program)]);
    is_refused(&[&one, &grid], &["their grids differ"]);
    is_refused(&[&one, &options], &["other options"]);
    is_refused(&[&one, &schema], &["its schema is 7"]);
    let whole = copy.dir();
    is_refused(&[&whole, &whole], &["a run is there twice"]);
    is_refused(&[&copy.beside("nowhere")], &["nowhere"]);
    merge(&[&one, &two], &whole).refuses(&["--out", "exists already"]);
}

#[test]
fn a_shard_with_a_cell_that_was_measured_with_other_options_is_refused() {
    let copy = FixtureCopy::new();
    let [one, two] = [shard(&copy, 1, 2), shard(&copy, 2, 2)];
    let (_, mut row) = rows(&two).remove(0);
    row.config.load.pace = Pace::Outstanding(3);
    let run = two.join("cells").join(&row.cell).join("run-1");
    row.rewrite(&run).unwrap();
    is_refused(&[&one, &two], &["run.json", "its `load` is not that"]);
    assert!(run.is_dir());
}

#[test]
fn a_shard_with_a_changed_file_is_refused_and_one_with_an_unmeasured_cell_is_named() {
    let copy = FixtureCopy::new();
    let [one, two] = [shard(&copy, 1, 2), shard(&copy, 2, 2)];
    let cell = fs::read_dir(two.join("cells")).unwrap().next().unwrap();
    let run = cell.unwrap().path().join("run-1");
    let sites = fs::read_to_string(run.join("sites.csv")).unwrap();
    fs::write(run.join("sites.csv"), sites + "\n").unwrap();
    is_refused(&[&one, &two], &["sites.csv", "checksum"]);
    fs::rename(&run, run.with_file_name("run-1.partial")).unwrap();
    let merged = copy.beside("merged");
    let ended = merge(&[&one, &two], &merged);
    ended.succeeds();
    holds(&ended.err, &["warning", path(&two), "1 cell"]);
    assert_eq!(rows(&merged).len(), 1);
}
