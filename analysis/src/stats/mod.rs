//! Turns the sums and histograms of slices into values with intervals, and tests which changes are
//! significant. `METHODS.md` has the reasons, the assumptions, and the coverage of the intervals.
//!
//! [`ratio()`] and [`quantile()`] estimate everything, from slices by run and by block: a value, and what each
//! block adds to its error. All variants of a cell have the same runs and blocks, since a block is one slice
//! of each. Intervals, changes between variants and means over cells follow from these in the same way for
//! every metric.

mod calibration;
mod change;
mod counts;
mod estimate;
mod histogram;
mod mean;
mod multiple;
mod quantile;
mod ratio;
#[cfg(test)]
#[path = "../../tests/simulation/mod.rs"]
mod simulation;
mod student;
mod sweeps;
mod trend;
mod uncertain;
mod variance;

pub(crate) use self::{
    calibration::{Calibration, FEWEST_PAIRS, calibrate},
    change::{Change, change},
    counts::Counts,
    estimate::{BareEstimate, CellEstimate},
    mean::{MeanChange, mean, mean_over_cells},
    multiple::{adjusted_p_values, is_resolved},
    quantile::{LaunchCounts, quantile},
    ratio::{RatioKind, RatioPart, ratio},
    student::CONFIDENCE,
    sweeps::{BetweenSweeps, change_between},
    trend::{Trend, trend},
    uncertain::{Interval, Uncertain},
};
