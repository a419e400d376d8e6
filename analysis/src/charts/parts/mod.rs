//! The parts that several pictures share.

pub(super) mod cell_text;
pub(super) mod colour_scale;
pub(super) mod frame;
pub(super) mod legend;
mod no_value;
