//! Which slices belong together: a block is one of each variant.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

/// A slice's place.
pub(super) struct Turn {
    /// Its index among the slices, which are rows of a table.
    pub(super) slice: usize,
    pub(super) block: u64,
    pub(super) variant: usize,
}

/// Blocks in which every variant has its slice.
pub(super) fn complete_blocks(
    turns: impl IntoIterator<Item = Turn>,
    variants: usize,
) -> Result<Vec<Vec<usize>>> {
    let mut blocks: BTreeMap<u64, Vec<Option<usize>>> = BTreeMap::new();
    for turn in turns {
        let block = blocks
            .entry(turn.block)
            .or_insert_with(|| vec![None; variants]);
        let line = turn.slice + 2;
        let Some(place) = block.get_mut(turn.variant) else {
            bail!("line {line}: there is no variant {}", turn.variant);
        };
        if place.replace(turn.slice).is_some() {
            bail!(
                "line {line}: block {} has variant {} twice",
                turn.block,
                turn.variant
            );
        }
    }
    Ok(blocks
        .into_values()
        .filter_map(|block| block.into_iter().collect())
        .collect())
}
