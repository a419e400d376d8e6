//! Which slices belong together: a block is one of each variant.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Result, bail};
use run_format::{
    config::RuntimeConfig,
    files,
    run_row::RunRow,
    tables::{BlockRow, Disturbance},
};

use super::rows;

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

/// What becomes of disturbed blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbed {
    Kept,
    /// Launches are compared, and each waits for its core in its own blocks.
    KeptIfWaiting,
    SetAside,
}

/// What the machine did in blocks. Older soaks do not say.
pub(super) fn machine(dir: &Path, may_be_torn: bool) -> Result<Vec<BlockRow>> {
    let path = dir.join(files::BLOCKS);
    if path.exists() {
        rows::read(&path, may_be_torn)
    } else {
        Ok(Vec::new())
    }
}

pub(crate) type Disturbances = BTreeMap<Disturbance, usize>;

impl Disturbed {
    pub(crate) fn unless(is_kept: bool) -> Disturbed {
        if is_kept {
            Disturbed::Kept
        } else {
            Disturbed::SetAside
        }
    }

    /// Takes disturbed blocks out. If more than half of them are disturbed there is nothing else, and it takes only those in
    /// which something stood still. Returns those that it took, and those that it did not.
    pub(super) fn set_aside<T>(
        self,
        (machine, runtime): (&[BlockRow], Option<&RuntimeConfig>),
        blocks: &mut Vec<T>,
        number: impl Fn(&T) -> u32,
    ) -> (Disturbances, Disturbances) {
        if self == Disturbed::Kept {
            return Default::default();
        }
        let rows: BTreeMap<u32, &BlockRow> = machine.iter().map(|row| (row.block, row)).collect();
        let disturbance = |block: &T| {
            let (row, runtime) = rows.get(&number(block)).zip(runtime)?;
            let is_kept =
                |it: &Disturbance| self == Disturbed::KeptIfWaiting && *it == Disturbance::Waiting;
            row.disturbance(runtime).filter(|it| !is_kept(it))
        };
        let counted = |blocks: &[T], counts: &mut Disturbances| {
            for disturbance in blocks.iter().filter_map(disturbance) {
                *counts.entry(disturbance).or_default() += 1;
            }
        };
        let stood_still = |block: &T| {
            disturbance(block).is_some()
                && rows
                    .get(&number(block))
                    .is_some_and(|row| row.stood_still())
        };
        let (mut taken, mut left) = (Disturbances::new(), Disturbances::new());
        let lost: Vec<T> = blocks.extract_if(.., |block| stood_still(block)).collect();
        counted(&lost, &mut taken);
        counted(blocks, &mut left);
        if 2 * left.values().sum::<usize>() > blocks.len() {
            return (taken, left);
        }
        counted(blocks, &mut taken);
        blocks.retain(|block| disturbance(block).is_none());
        (taken, Disturbances::new())
    }
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
