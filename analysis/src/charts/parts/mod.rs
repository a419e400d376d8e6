//! What several pictures consist of.

pub(super) mod cell_grid;
pub(super) mod cell_text;
pub(super) mod colour_bar;
mod colour_scale;
pub(super) mod frame;
pub(super) mod legend;
pub(super) mod line_panel;
pub(super) mod point_labels;
pub(super) mod status;
