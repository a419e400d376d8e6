//! Turns the sums and histograms of slices into values with intervals, and says which changes are
//! real. `METHODS.md` has the reasons, the assumptions, and how often the intervals were right.
//!
//! Everything is estimated by [`ratio()`] or [`quantile()`] from slices, by run and by block, as a
//! value and what each block adds to it. Intervals of levels, changes between variants and means
//! over cells follow from those in the same way whatever was measured.

mod calibration;
mod change;
mod counts;
mod estimate;
mod histogram;
mod mean;
mod middle;
mod multiple;
mod quantile;
mod ratio;
#[cfg(test)]
mod simulation;
mod student;
mod sweeps;
mod trend;
mod uncertain;
mod variance;

pub(crate) use self::{
    calibration::{Calibration, FEWEST_PAIRS, calibrate},
    change::{Change, change},
    counts::{Counts, PLACES},
    estimate::Estimate,
    histogram::Histogram,
    mean::mean_over_cells,
    middle::{Middle, middle_of_cells},
    multiple::{adjusted_p_values, is_resolved},
    quantile::{Launch, quantile},
    ratio::{Kind, Part, ratio},
    sweeps::{BetweenSweeps, change_between},
    trend::{Trend, trend},
    uncertain::{Interval, Uncertain},
};

/// What every slice of one variant gave: by run, then by block. Variants of one cell have the same
/// runs and blocks, since a block is one slice of each.
pub(crate) type Slices<T> = [Vec<T>];
