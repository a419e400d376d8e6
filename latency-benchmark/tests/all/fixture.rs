//! The committed sweep in `tests/fixture` and the run of `rr` in `tests/fixture-rr` are as this program writes:
//! same files and same histograms, read with the same types. The tests of the analysis read them, too. Their
//! manifests say how they were made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::{Bench, succeeds};
use run_format::files::{
    BANDS, CHILDREN, HISTOGRAMS, MANIFEST, PEERS, RR_MANIFEST, RUN, SITES, SLICES, read_versioned,
};
use run_format::{
    BandRow, ChildRow, HistogramTag, Manifest, PeerRow, RunRow, SiteRow, SliceRow, read_table,
};

fn committed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

#[test]
fn the_fixture_is_as_this_program_writes() {
    let Some(bench) = Bench::near() else { return };
    let mut sweep = bench.sweep(&["--peers", "2", "--rtt", "0", "--payload", "4KiB,64KiB"]);
    sweep.args(["--budget", "none", "--budget", "muxer=1/deferred"]);
    succeeds(sweep.args(["--max-cell-seconds", "3"]));
    let (old, new) = (committed("fixture"), bench.run_dir());
    assert_eq!(files(&old, &old), files(&new, &new));
    let [old, new] = [old, new].map(|dir| {
        let manifest: Manifest = read_versioned(&dir.join(MANIFEST)).unwrap();
        let runs = manifest.config.axes.cells().into_iter().map(|cell| {
            let run = dir.join("cells").join(cell.id()).join("run-1");
            let row: RunRow = read_versioned(&run.join(RUN)).unwrap();
            let counts = [
                read_table::<SliceRow>(&run.join(SLICES), false)
                    .unwrap()
                    .len(),
                read_table::<SiteRow>(&run.join(SITES), false)
                    .unwrap()
                    .len(),
                read_table::<BandRow>(&run.join(BANDS), false)
                    .unwrap()
                    .len(),
                read_table::<ChildRow>(&run.join(CHILDREN), false)
                    .unwrap()
                    .len(),
                read_table::<PeerRow>(&run.join(PEERS), false)
                    .unwrap()
                    .len(),
            ];
            assert!(row.is_measured() && counts.iter().all(|rows| *rows > 0));
            (cell.id(), tags(&run))
        });
        runs.collect::<BTreeMap<_, _>>()
    });
    // On a busy machine a variant can pass without a poll, and then it has no histograms.
    assert!(old.keys().eq(new.keys()));
    assert!(
        new.iter().all(|(cell, tags)| tags.is_subset(&old[cell])),
        "{new:?}"
    );
}

#[test]
fn the_fixture_of_rr_is_as_this_program_writes() {
    let Some(bench) = Bench::near() else { return };
    let mut command = bench.command(&["rr", "--payload", "64B", "--seconds", "2"]);
    command.arg("--out").arg(bench.out());
    succeeds(command.arg("--name=run"));
    let (old, new) = (committed("fixture-rr"), bench.run_dir());
    assert_eq!(files(&old, &old), files(&new, &new));
    let [old, new] = [old, new].map(|dir| {
        let manifest: Manifest = read_versioned(&dir.join(RR_MANIFEST)).unwrap();
        let run = dir.join("cells/pl000064_rtt000_n01/run-1");
        let row: RunRow = read_versioned(&run.join(RUN)).unwrap();
        let rows = read_table::<SliceRow>(&run.join(SLICES), false).unwrap();
        assert!(row.is_measured() && !rows.is_empty());
        let config = manifest.config;
        (config.node, config.measurement, config.variants, tags(&run))
    });
    assert_eq!(old, new);
}

/// Every file's path below `root`, but for the lines inserted into upstream's sources, which show some of those around them.
fn files(root: &Path, dir: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(root, &path));
        } else if !["edits.diff", ".lock"]
            .iter()
            .any(|name| path.ends_with(name))
        {
            found.insert(path.strip_prefix(root).unwrap().to_owned());
        }
    }
    found
}

/// Tags without the number of the slice, since no two launches have the same number of slices.
fn tags(run: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(run.join(HISTOGRAMS)).unwrap();
    let tags = text.lines().filter_map(|line| line.strip_prefix("Tag="));
    let tags = tags.filter_map(|line| line.split(',').next());
    let without_slice = tags.map(|tag| HistogramTag {
        slice: None,
        ..tag.parse().unwrap()
    });
    without_slice.map(|tag| tag.to_string()).collect()
}
