//! Whether slow polls are those of a cold core: what is left of them when it is kept from sleeping.

use std::collections::BTreeMap;

use super::sums::by;
use crate::{
    load::explain::cell::{CellEvidence, Pass},
    site::Site,
    stats::{Change, Estimate, Kind, Part, change, ratio},
};

/// Slow polls as shares, in the blocks that have a slice of either kind.
#[derive(Clone, Debug)]
pub(crate) struct Warm {
    pub(crate) blocks: usize,
    pub(crate) normal: Estimate,
    pub(crate) warm: Estimate,
    /// None where a single block says nothing of chance.
    pub(crate) change: Option<Change>,
}

/// Of the baseline. None where there was no such pair of slices.
pub(crate) fn of(evidence: &CellEvidence, site: Site, from_ns: u64) -> Option<Warm> {
    let mut blocks: BTreeMap<u64, [Option<Part>; 2]> = BTreeMap::new();
    for slice in evidence.slices.iter().filter(|it| it.variant == 0) {
        let place = match slice.pass {
            Pass::Normal => 0,
            Pass::Warm => 1,
            _ => continue,
        };
        let part = blocks.entry(slice.block).or_default()[place].get_or_insert_default();
        let bands = evidence.bands.iter();
        for band in bands.filter(|it| it.slice == slice.number && it.site == site) {
            part.den += band.polls as f64;
            part.num += if band.from_ns >= from_ns {
                band.polls as f64
            } else {
                0.0
            };
        }
    }
    let pairs = blocks.into_values();
    let pairs: Vec<(Part, Part)> = pairs.filter_map(|[one, other]| one.zip(other)).collect();
    let (normal, warm): (Vec<Part>, Vec<Part>) = pairs.iter().copied().unzip();
    let normal = ratio(&[normal], Kind::Share)?;
    let warm = ratio(&[warm], Kind::Share)?;
    Some(Warm {
        blocks: pairs.len(),
        change: change(&normal, &warm),
        normal,
        warm,
    })
}

impl Warm {
    /// Which part of slow polls goes, of one.
    pub(crate) fn gone(&self) -> Option<f64> {
        by(self.normal.value() - self.warm.value(), self.normal.value())
    }
}
