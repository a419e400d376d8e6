//! Whether a cold core causes slow polls: how many remain if the core is kept from sleeping.

use std::collections::BTreeMap;

use run_format::{Site, tables::Pass};

use super::sums::ratio;
use crate::{
    load::explain::CellEvidence,
    stats::{self, CellEstimate, Change, RatioKind, RatioPart, change},
};

/// The shares of slow polls, from the blocks that have a slice of each kind.
#[derive(Clone, Debug)]
pub(crate) struct WarmCore {
    pub(crate) blocks: usize,
    pub(crate) normal: CellEstimate,
    pub(crate) warm: CellEstimate,
    /// None if a single block does not show the noise.
    pub(crate) change: Option<Change>,
}

/// For the baseline. None without any block that has both slices.
pub(crate) fn warm_core(evidence: &CellEvidence, site: Site, from_ns: u64) -> Option<WarmCore> {
    let mut blocks: BTreeMap<u32, [Option<RatioPart>; 2]> = BTreeMap::new();
    for slice in evidence.slices.iter().filter(|it| it.variant == 0) {
        let place = match slice.pass {
            Pass::Normal => 0,
            Pass::Warm => 1,
            _ => continue,
        };
        let part = blocks.entry(slice.block).or_default()[place].get_or_insert_default();
        let bands = evidence.bands.iter();
        for band in bands.filter(|it| it.slice == slice.slice && it.site == site) {
            part.den += band.polls as f64;
            if band.from_ns >= from_ns {
                part.num += band.polls as f64;
            }
        }
    }
    let pairs = blocks.into_values();
    let pairs: Vec<(RatioPart, RatioPart)> =
        pairs.filter_map(|[one, other]| one.zip(other)).collect();
    let (normal, warm): (Vec<RatioPart>, Vec<RatioPart>) = pairs.iter().copied().unzip();
    let normal = stats::ratio(&[normal], RatioKind::Share)?;
    let warm = stats::ratio(&[warm], RatioKind::Share)?;
    Some(WarmCore {
        blocks: pairs.len(),
        change: change(&normal, &warm),
        normal,
        warm,
    })
}

impl WarmCore {
    pub(crate) fn prevented(&self) -> Option<f64> {
        let (normal, warm) = (self.normal.value(), self.warm.value());
        ratio(normal - warm, normal)
    }
}
