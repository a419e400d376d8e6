//! Pictures of a comparison. A picture gets values, intervals, labels and marks. It lays them out and draws
//! them, with the same code for PNG and SVG.

mod draw;
#[cfg(test)]
#[path = "../../tests/gallery/mod.rs"]
mod gallery;
mod heatmap;
mod indexed;
mod line_chart;
mod output;
mod parts;
mod stacks;
mod time_series;
mod trade_off;
mod view;

pub(crate) use heatmap::{Facet, Heatmap, HeatmapCell};
pub(crate) use line_chart::{LineChart, LineChartPanel, PanelLayout};
pub(crate) use output::{ChartFormat, svg, write};
pub(crate) use parts::cell_grid::across_for;
pub(crate) use stacks::{Bar, BarGroup, Palette, Stacks};
pub(crate) use time_series::{TimeSeries, TrendLine};
pub(crate) use trade_off::{TradeOff, TradePoint};
pub(crate) use view::{
    Caption, Categories, CellValue, ChartSeries, ChartValue, ColourScale, Colours, Mapping,
    NoValue, Picture, ValueAxis,
};
