//! The names of all files of a run, and how a file is read and written whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::plausible::{MeasuredSpan, Plausible};

/// The version of the format. It goes up when earlier files can no longer be read. No other version is read.
pub const SCHEMA: u32 = 3;

pub const MANIFEST: &str = "manifest.json";
/// Takes the manifest's place in the folder of a run of `rr`.
pub const RR_MANIFEST: &str = "rr.json";
/// Takes the manifest's place in the folder of an application.
pub const APPLICATION: &str = "application.json";
pub const EDITS: &str = "edits.diff";
/// Holds a folder for each subject that was built.
pub const SUBJECTS: &str = "subjects";
pub const CELLS: &str = "cells";
/// Holds the evidence of `explain`, and names the file that says which cells it is about.
pub const EXPLAIN: &str = "explain";
pub const RUN: &str = "run.json";
pub const SLICES: &str = "slices.csv";
pub const BLOCKS: &str = "blocks.csv";
/// Launches of `rr` and of `explain` do not have this file.
pub const IDLE: &str = "idle.csv";
pub const WORK: &str = "work.csv";
pub const TURNS: &str = "turns.csv";
pub const SITES: &str = "sites.csv";
pub const BANDS: &str = "bands.csv";
pub const CHILDREN: &str = "children.csv";
pub const BOUNDS: &str = "bounds.csv";
pub const PEERS: &str = "peers.csv";
/// Present only if central has several workers.
pub const WORKERS: &str = "workers.csv";
/// Present only if the nodes speak QUIC.
pub const QUIC: &str = "quic.csv";
pub const HISTOGRAMS: &str = "histograms.hlog";
pub const SOAK: &str = "soak.json";
pub const SOAK_ROWS: &str = "soak.csv";
pub const EVIDENCE: &str = "evidence.json";
pub const STACKS: &str = "stacks.csv";
pub const ALLOCATIONS: &str = "allocations.csv";
pub const ALLOCATION_STACKS: &str = "allocation_stacks.csv";
pub const COUNTERS: &str = "counters.csv";
pub const SYSTEM_CALLS: &str = "system_calls.csv";
pub const TIMELINE: &str = "timeline.csv";
pub const ACTIVITY: &str = "activity.csv";
/// A gate writes its report and [`COUNTS`] into a folder of its own.
pub const GATE_REPORT: &str = "gate.md";
pub const COUNTS: &str = "counts.csv";

/// The folder of a run below that of its cell: `run-1`, or `s0-run-1` where subjects are compared.
pub fn run_folder(run: u32, subject: Option<usize>) -> String {
    match subject {
        Some(subject) => format!("s{subject}-run-{run}"),
        None => format!("run-{run}"),
    }
}

/// The folder of the launch of a failed subject that was built without the inserted lines, below that of the sweep.
pub fn without_graft_folder(subject: usize) -> String {
    format!("{SUBJECTS}/{subject}/without-lines")
}

/// The folder of a launch below [`EXPLAIN`]: `CELL`, or `CELL/s0` where subjects are explained.
pub fn explained_folder(cell: &str, subject: Option<usize>) -> String {
    match subject {
        Some(subject) => format!("{cell}/s{subject}"),
        None => cell.to_owned(),
    }
}

/// The folder of the same run when it is measured while no other cell is.
pub fn alone_folder(run_folder: &str) -> String {
    format!("{run_folder}.alone")
}

pub fn unix_s() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed();
    since.map_or(0, |since| since.as_secs())
}

/// Reads a file. Refuses a file that is longer than any of a run, and anything but a regular file, because reading that may
/// never end.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    const LONGEST: u64 = 256 << 20;
    let read = || -> io::Result<Vec<u8>> {
        let about = fs::metadata(path)?;
        if !about.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        if about.len() > LONGEST {
            return Err(io::Error::other("it is longer than 256 MiB"));
        }
        fs::read(path)
    };
    read().with_context(|| path.display().to_string())
}

/// Writes a file whole or not at all.
pub fn write_whole(path: &Path, text: &str) -> Result<()> {
    let partial = path.with_extension("partial");
    let write = || -> io::Result<()> {
        let mut file = File::create(&partial)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_whole(path, &(serde_json::to_string_pretty(value)? + "\n"))
}

/// Reads a JSON file without checking its numbers.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = read(path)?;
    serde_json::from_slice(&text).with_context(|| path.display().to_string())
}

/// Reads a document. Refuses numbers that no measurement has.
pub fn read_document<T: DeserializeOwned + Plausible>(path: &Path) -> Result<T> {
    let document: T = read_json(path)?;
    let checked = document.check(&MeasuredSpan::UNKNOWN);
    checked.with_context(|| path.display().to_string())?;
    Ok(document)
}

/// Reads a document that says which schema it has.
pub fn read_versioned<T: DeserializeOwned + Plausible>(path: &Path) -> Result<T> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    let Version { schema } = read_json(path)?;
    if schema != SCHEMA {
        bail!(
            "{}: its schema is {schema}, but this program reads schema {SCHEMA}",
            path.display()
        );
    }
    read_document(path)
}
