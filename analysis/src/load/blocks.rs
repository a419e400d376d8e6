//! Which slices belong together: a block is one of each variant.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use run_format::{BlockRow, Disturbance, Pass, RuntimeConfig, SliceRow};

/// Blocks in which every variant has its slice, whose places in the table they name.
pub(super) fn complete_blocks<'a>(
    slices: impl Iterator<Item = &'a SliceRow>,
    variants: usize,
) -> Result<Vec<Vec<usize>>> {
    let mut blocks: BTreeMap<u32, Vec<Option<usize>>> = BTreeMap::new();
    let slices = slices.enumerate();
    for (at, slice) in slices.filter(|(_, it)| it.pass == Pass::Compare) {
        let (line, number, variant) = (at + 2, slice.block, slice.variant);
        let block = blocks.entry(number).or_insert_with(|| vec![None; variants]);
        let Some(place) = block.get_mut(variant) else {
            bail!("line {line}: there is no variant {variant}");
        };
        if place.replace(at).is_some() {
            bail!("line {line}: block {number} has variant {variant} twice");
        }
    }
    let blocks = blocks.into_values();
    let complete = blocks.filter_map(|block| block.into_iter().collect());
    Ok(complete.collect())
}

pub(crate) type Disturbances = BTreeMap<Disturbance, usize>;

/// Takes disturbed blocks out. If more than half of them are disturbed there is nothing else, and it takes only those in
/// which something stood still. Returns those that it took, and those that it did not. Without a runtime, none is known to
/// be disturbed.
pub(super) fn set_aside<T>(
    machine: &[BlockRow],
    runtime: Option<&RuntimeConfig>,
    blocks: &mut Vec<T>,
    number: impl Fn(&T) -> u32,
) -> (Disturbances, Disturbances) {
    let rows: BTreeMap<u32, &BlockRow> = machine.iter().map(|row| (row.block, row)).collect();
    let disturbance = |block: &T| {
        let row = rows.get(&number(block))?;
        Some((row.disturbance(runtime?)?, row.stood_still()))
    };
    let found: Vec<_> = blocks.iter().map(disturbance).collect();
    let stood_still = |&&(_, stood_still): &&(Disturbance, bool)| stood_still;
    let standstills = found.iter().flatten().filter(stood_still).count();
    let others = found.iter().flatten().count() - standstills;
    let is_most = 2 * others > blocks.len() - standstills;
    let (mut taken, mut left) = (Disturbances::new(), Disturbances::new());
    let mut found = found.into_iter();
    blocks.retain(|_| {
        let Some((disturbance, stood_still)) = found.next().flatten() else {
            return true;
        };
        let stays = is_most && !stood_still;
        let counts = if stays { &mut left } else { &mut taken };
        *counts.entry(disturbance).or_default() += 1;
        stays
    });
    (taken, left)
}
