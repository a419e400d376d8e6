//! What the figures of a cell are computed from.

use std::collections::BTreeMap;

use super::{distribution::Distribution, metric::MetricKey};
use crate::stats::{LaunchCounts, RatioKind, RatioPart};

/// The values that every variant counted, and last what candidates are compared with. None if any slice did not
/// count them.
pub(super) type LaunchesByVariant<'a> = BTreeMap<Distribution, Vec<Option<Vec<LaunchCounts<'a>>>>>;

/// The sums that ratios are made of: by variant, and last of what candidates are compared with; then by run and block.
pub(super) type RatioSums = BTreeMap<MetricKey, (RatioKind, Vec<Option<Vec<Vec<RatioPart>>>>)>;
