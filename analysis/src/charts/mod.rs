//! Pictures of a comparison. A picture gets values, intervals, labels and marks, and lays them out as shapes, which
//! become PNG or SVG.

mod cell_text;
mod colour_scale;
mod draw;
mod frame;
#[cfg(test)]
#[path = "../../tests/gallery/mod.rs"]
mod gallery;
mod heatmap;
mod legend;
mod line_chart;
mod no_value;
mod output;
mod stacks;
mod view;

pub(crate) use colour_scale::shades_of_page;
pub(crate) use frame::svg;
pub(crate) use heatmap::{Facet, Heatmap, HeatmapCell, across_for};
pub(crate) use line_chart::{LineChart, LineChartPanel};
pub(crate) use output::{ChartFormat, write};
pub(crate) use stacks::{BarGroup, Stacks};
pub(crate) use view::{
    Caption, Categories, CellValue, ChartValue, ColourScale, Colours, NoValue, Picture, ValueAxis,
};
