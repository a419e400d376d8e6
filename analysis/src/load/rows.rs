//! Reads tables and refuses rows that are there twice, because they would count twice.

use std::collections::HashSet;
use std::hash::Hash;
use std::path::Path;

use anyhow::{Result, bail};
use run_format::files::{
    BANDS, BLOCKS, BOUNDS, CHILDREN, IDLE, PEERS, QUIC, SITES, SLICES, TURNS, WORK, WORKERS,
};
use run_format::{
    BandRow, BlockRow, BoundRow, ChildRow, IdleRow, PeerRow, QuicRow, SiteRow, SliceRow, TurnRow,
    WorkRow, WorkerRow, read_table,
};
use serde::de::DeserializeOwned;

/// Tables that some kinds of measurement do not have.
const MAY_BE_ABSENT: [&str; 4] = [IDLE, QUIC, WORK, WORKERS];

/// A row of a table in which no two rows have the same key.
pub(super) trait Row: DeserializeOwned {
    const FILE: &'static str;

    fn key(&self) -> impl Eq + Hash;
}

macro_rules! rows {
    ($($file:ident $row:ident: $($field:ident)*;)*) => {$(
        impl Row for $row {
            const FILE: &'static str = $file;

            fn key(&self) -> impl Eq + Hash {
                ($(&self.$field,)*)
            }
        }
    )*};
}
rows! {
    SLICES SliceRow: slice;
    BLOCKS BlockRow: block;
    TURNS TurnRow: slice from_ms;
    SITES SiteRow: slice site;
    BANDS BandRow: slice site from_ns iterations;
    CHILDREN ChildRow: slice site from_ns child;
    BOUNDS BoundRow: slice site budget;
    PEERS PeerRow: slice peer;
    WORKERS WorkerRow: slice worker;
    QUIC QuicRow: slice;
    WORK WorkRow: block;
}

/// The table has only one row.
impl Row for IdleRow {
    const FILE: &'static str = IDLE;

    fn key(&self) -> impl Eq + Hash {}
}

/// Reads the table of a folder. Its last row may be `torn`.
pub(super) fn read<T: Row>(dir: &Path, torn: bool) -> Result<Vec<T>> {
    let path = dir.join(T::FILE);
    if MAY_BE_ABSENT.contains(&T::FILE) && !path.is_file() {
        return Ok(Vec::new());
    }
    let rows: Vec<T> = read_table(&path, torn)?;
    let mut known = HashSet::with_capacity(rows.len());
    if let Some(index) = rows.iter().position(|row| !known.insert(row.key())) {
        let (path, line) = (path.display(), index + 2);
        bail!("{path}: line {line}: this row is there twice");
    }
    drop(known);
    Ok(rows)
}
