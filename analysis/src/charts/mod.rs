//! Pictures of a comparison: values, intervals and labels become shapes, and shapes become PNG or SVG.

mod canvas;
mod colour;
mod colour_scale;
#[cfg(test)]
#[path = "../../tests/gallery/mod.rs"]
mod gallery;
mod heatmap;
mod lettering;
mod line_chart;
mod outlines;
mod picture;
mod values;

pub(crate) use colour_scale::{ColourScale, Colours};
pub(crate) use heatmap::{Facet, Heatmap, HeatmapCell, NoValue};
pub(crate) use line_chart::{Axis, LineChart, LineChartPanel};
pub(crate) use picture::{Body, ChartFormat, Picture};
pub(crate) use values::{Categories, ChartValue, name_with_unit};
