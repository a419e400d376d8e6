//! Values at named places, joined by lines, in several panels with the same series.

use super::{
    draw::{Axis, Canvas, Colour, INK, PointMark, Rect},
    parts::{
        frame::{BODY_WIDTH, TICK, draw_heading},
        legend::{Legend, LegendKey},
        line_panel::{
            LinePanel, PLACES_HEIGHT, axis_over, draw_side_name, draw_values, side_width,
        },
    },
    view::{Caption, Categories, ChartSeries, ChartValue, Picture, ValueAxis},
};

#[derive(Clone, Debug)]
pub(crate) struct LineChart {
    pub(crate) caption: Caption,
    pub(crate) layout: PanelLayout,
    pub(crate) series: Vec<ChartSeries>,
    /// The names of the baseline and of the marks in the legend.
    pub(crate) baseline_name: String,
    pub(crate) marks_name: String,
    pub(crate) panels: Vec<LineChartPanel>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PanelLayout {
    /// Each has an axis of its own. The last one shows the places of all.
    OneBelowTheOther,
    /// All share the axis of the first one. Each has a title and places of its own.
    SideBySide,
}

#[derive(Clone, Debug)]
pub(crate) struct LineChartPanel {
    /// Shown where panels are side by side.
    pub(crate) title: String,
    /// From left to right.
    pub(crate) places: Categories,
    pub(crate) axis: ValueAxis,
    /// Drawn across all places.
    pub(crate) baseline: Option<ChartValue>,
    /// Single values, each at a place.
    pub(crate) marks: Vec<(usize, ChartValue)>,
    /// By series and place.
    pub(crate) lines: Vec<Vec<Option<ChartValue>>>,
}

const LOW_PANEL: f64 = 205.0;
const BETWEEN: f64 = 28.0;
const TITLE: f64 = 34.0;
const HIGH_PANEL: f64 = 420.0;
const GUTTER: f64 = 30.0;
const BEFORE_LEGEND: f64 = 8.0;
const BASELINE: Colour = Colour(0x50, 0x50, 0x50);

impl Picture for LineChart {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        let panels = match self.layout {
            PanelLayout::OneBelowTheOther => {
                let count = self.panels.len() as f64;
                count * LOW_PANEL + (count - 1.0).max(0.0) * BETWEEN
            }
            PanelLayout::SideBySide => TITLE + HIGH_PANEL,
        };
        panels + PLACES_HEIGHT + BEFORE_LEGEND + self.legend().height(BODY_WIDTH)
    }

    fn draw_body(&self, canvas: &mut Canvas<'_>, body: Rect) {
        let legend_height = self.legend().height(BODY_WIDTH);
        let panels = body.with_height(body.height - legend_height - BEFORE_LEGEND - PLACES_HEIGHT);
        match self.layout {
            PanelLayout::OneBelowTheOther => self.draw_below(canvas, panels),
            PanelLayout::SideBySide => self.draw_beside(canvas, panels.below(TITLE)),
        }
        let legend = body.below(body.height - legend_height);
        self.legend().draw(canvas, legend);
    }
}

impl LineChart {
    fn draw_below(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let rows = area.rows(self.panels.len(), BETWEEN);
        let axes = self.panels.iter().zip(&rows);
        let axes: Vec<Axis> = axes
            .map(|(panel, row)| axis_over(panel.values(), &panel.axis, *row))
            .collect();
        // All plots begin where the one with the widest side does.
        let names = self.panels.iter().map(|panel| panel.axis.label());
        let left = side_width(axes.iter().zip(names), LOW_PANEL);
        for (index, panel) in self.panels.iter().enumerate() {
            let (plot, y) = (rows[index].right_of(left), &axes[index]);
            let lines = self.draw_panel(canvas, panel, plot, y);
            draw_values(canvas, plot, y);
            draw_side_name(canvas, plot, area.x + 10.0, &panel.axis.label());
            if index + 1 == self.panels.len() {
                lines.draw_places(canvas);
            }
        }
    }

    fn draw_beside(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let Some(first) = self.panels.first() else {
            return;
        };
        let values = self.panels.iter().flat_map(LineChartPanel::values);
        let y = axis_over(values, &first.axis, area);
        let plots = area.right_of(y.label_width(TICK) + 40.0);
        let plots = plots.columns(self.panels.len(), GUTTER);
        draw_values(canvas, plots[0], &y);
        draw_side_name(canvas, plots[0], area.x + 10.0, &first.axis.label());
        for (panel, plot) in self.panels.iter().zip(plots) {
            self.draw_panel(canvas, panel, plot, &y).draw_places(canvas);
            draw_heading(canvas, plot, &panel.title);
        }
    }

    fn draw_panel<'a>(
        &self,
        canvas: &mut Canvas<'_>,
        panel: &'a LineChartPanel,
        plot: Rect,
        y: &'a Axis,
    ) -> LinePanel<'a> {
        let places = &panel.places;
        let lines = LinePanel { plot, places, y };
        lines.draw_ground(canvas);
        if let Some(baseline) = &panel.baseline {
            lines.draw_band(canvas, baseline, BASELINE);
        }
        lines.draw_series(canvas, &self.series, &panel.lines);
        for (place, value) in &panel.marks {
            lines.draw_mark(canvas, lines.x(*place), value, (PointMark::Ring, INK));
        }
        lines
    }

    fn legend(&self) -> Legend {
        let mut legend = Legend::of(&self.series, LegendKey::Line);
        if self.panels.iter().any(|panel| panel.baseline.is_some()) {
            legend = legend.with(LegendKey::Band(BASELINE), &self.baseline_name);
        }
        if self.panels.iter().any(|panel| !panel.marks.is_empty()) {
            legend = legend.with(LegendKey::Mark(PointMark::Ring, INK), &self.marks_name);
        }
        legend
    }
}

impl LineChartPanel {
    fn values(&self) -> impl Iterator<Item = &ChartValue> {
        let lines = self.lines.iter().flatten().flatten();
        let marks = self.marks.iter().map(|(_, value)| value);
        lines.chain(&self.baseline).chain(marks)
    }
}
