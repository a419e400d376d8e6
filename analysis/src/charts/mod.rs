//! Pictures of a comparison. A picture gets values, intervals, labels and marks, and lays them out as shapes, which
//! become PNG or SVG.

mod draw;
#[cfg(test)]
#[path = "../../tests/gallery/mod.rs"]
mod gallery;
mod heatmap;
mod line_chart;
mod output;
mod parts;
mod stacks;
mod view;

pub(crate) use heatmap::{Facet, Heatmap, HeatmapCell, across_for};
pub(crate) use line_chart::{LineChart, LineChartPanel};
pub(crate) use output::{ChartFormat, write};
pub(crate) use parts::{colour_scale::shades_of_page, frame::svg};
pub(crate) use stacks::{BarGroup, Stacks};
pub(crate) use view::{
    Caption, Categories, CellValue, ChartValue, ColourScale, Colours, NoValue, Picture, ValueAxis,
};
