//! The rule by which a sweep stops a cell early. Stopping because an interval is narrow favours intervals that
//! are too narrow; the simulation shows how much that matters.

use crate::stats::{RatioPart, student};

/// The numbers of blocks after which the sweep looks whether intervals are narrow enough.
const LOOKS: [usize; 2] = [4, 8];

/// An interval is narrow enough if half its width is at most this, or at most this share of the value.
const MARGIN: f64 = 0.01;
const MARGIN_OF_VALUE: f64 = 0.1;

/// The number of blocks after which all intervals are narrow enough. If they never are, the number of all blocks.
pub(super) fn blocks_until_precise(variants: &[Vec<RatioPart>]) -> usize {
    let all = variants[0].len();
    let is_precise = |blocks: &usize| variants.iter().all(|slices| is_within(&slices[..*blocks]));
    LOOKS
        .into_iter()
        .filter(|blocks| *blocks < all)
        .find(is_precise)
        .unwrap_or(all)
}

fn is_within(slices: &[RatioPart]) -> bool {
    let count = slices.len() as f64;
    let ratios = || slices.iter().map(|slice| slice.num / slice.den);
    let mean = ratios().sum::<f64>() / count;
    let variance = ratios().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let margin = student::critical(count - 1.0, 0.95) * (variance / count).sqrt();
    margin <= MARGIN.max(MARGIN_OF_VALUE * mean)
}
