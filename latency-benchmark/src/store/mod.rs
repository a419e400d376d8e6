//! What is on disk. `RESULTS.md` describes it; the names of all files are here.

pub(crate) mod manifest;
pub(crate) mod new_folder;
pub(crate) mod rows;
pub(crate) mod rr;
pub(crate) mod run_dir;
pub(crate) mod run_writer;
pub(crate) mod slow_polls;
pub(crate) mod soak;
pub(crate) mod table;

/// Counts changes that old readers would misread.
pub(crate) const SCHEMA: u32 = 1;

pub(crate) const MANIFEST: &str = "manifest.json";
/// Takes the manifest's place where `rr` measured.
pub(crate) const RR_MANIFEST: &str = "rr.json";
pub(crate) const EDITS: &str = "edits.diff";
/// Holds a folder for each subject that was built.
pub(crate) const SUBJECTS: &str = "subjects";
pub(crate) const CELLS: &str = "cells";
/// Holds why cells are slow, and names the file that says which.
pub(crate) const EXPLAIN: &str = "explain";
pub(crate) const RUN: &str = "run.json";
pub(crate) const SLICES: &str = "slices.csv";
pub(crate) const RR: &str = "rr.csv";
pub(crate) const SITES: &str = "sites.csv";
pub(crate) const BANDS: &str = "bands.csv";
pub(crate) const CHILDREN: &str = "children.csv";
pub(crate) const PEERS: &str = "peers.csv";
pub(crate) const HISTOGRAMS: &str = "histograms.hlog";
/// What a soak was asked for and how it ended, and its rows.
pub(crate) const SOAK: &str = "soak.json";
pub(crate) const SOAK_ROWS: &str = "soak.csv";

/// Now, in seconds since 1970.
pub(crate) fn unix_s() -> u64 {
    std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs())
}
