//! Which slices belong together: a block is one of each variant.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Result, bail};
use run_format::run_row::RunRow;

/// A slice's place.
pub(super) struct SliceInBlock {
    /// Its index among the rows of the table.
    pub(super) index: usize,
    pub(super) block: u32,
    pub(super) variant: usize,
}

/// Blocks in which every variant has its slice.
pub(super) fn complete_blocks(
    slices: impl IntoIterator<Item = SliceInBlock>,
    variants: usize,
) -> Result<Vec<Vec<usize>>> {
    let mut blocks: BTreeMap<u32, Vec<Option<usize>>> = BTreeMap::new();
    for slice in slices {
        let block = blocks
            .entry(slice.block)
            .or_insert_with(|| vec![None; variants]);
        let line = slice.index + 2;
        let Some(place) = block.get_mut(slice.variant) else {
            bail!("line {line}: there is no variant {}", slice.variant);
        };
        if place.replace(slice.index).is_some() {
            bail!(
                "line {line}: block {} has variant {} twice",
                slice.block,
                slice.variant
            );
        }
    }
    Ok(blocks
        .into_values()
        .filter_map(|block| block.into_iter().collect())
        .collect())
}

/// Refuses a table with another number of complete blocks than the run reported.
pub(super) fn check_count(blocks: usize, row: Option<&RunRow>, table: &Path) -> Result<()> {
    match row.and_then(|row| row.blocks) {
        Some(reported) if reported as usize != blocks => bail!(
            "{}: {blocks} complete blocks, but run.json says {reported}",
            table.display()
        ),
        _ => Ok(()),
    }
}
