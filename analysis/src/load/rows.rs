//! Tables whose rows are each there once: a row that is repeated would count twice.

use std::{collections::HashSet, hash::Hash, path::Path};

use anyhow::{Result, bail};
use run_format::{
    table::read_table,
    tables::{
        BlockRow, BoundRow, ChildRow, IdleRow, PeerRow, QuicRow, SiteRow, SliceRow, TurnRow,
        WorkRow, WorkerRow,
    },
};
use serde::de::DeserializeOwned;

pub(super) trait Row: DeserializeOwned {
    fn key(&self) -> impl Eq + Hash;
}

macro_rules! rows {
    ($($row:ident: $($field:ident)*;)*) => {$(
        impl Row for $row {
            fn key(&self) -> impl Eq + Hash {
                ($(&self.$field,)*)
            }
        }
    )*};
}
rows! {
    SliceRow: slice;
    BlockRow: block;
    TurnRow: slice from_ms;
    SiteRow: slice site;
    ChildRow: slice site from_ns child;
    BoundRow: slice site budget;
    PeerRow: slice peer;
    WorkerRow: slice worker;
    QuicRow: slice;
    WorkRow: block;
}

/// There is one.
impl Row for IdleRow {
    fn key(&self) -> impl Eq + Hash {}
}

/// Older measurements, and those without what a table is about, do not have it.
pub(super) fn read_if_there<T: Row>(path: &Path, torn: bool) -> Result<Vec<T>> {
    match path.is_file() {
        true => read(path, torn),
        false => Ok(Vec::new()),
    }
}

/// Reads a table. Its last row may be `torn`.
pub(super) fn read<T: Row>(path: &Path, torn: bool) -> Result<Vec<T>> {
    let rows: Vec<T> = read_table(path, torn)?;
    let mut known = HashSet::with_capacity(rows.len());
    if let Some(at) = rows.iter().position(|row| !known.insert(row.key())) {
        let (path, line) = (path.display(), at + 2);
        bail!("{path}: line {line}: this row is there twice");
    }
    drop(known);
    Ok(rows)
}
