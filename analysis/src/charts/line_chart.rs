//! Values at named places, joined by lines, in panels below each other with the same series.

use super::{
    draw::{Axis, Canvas, INK, PointMark, Rect, SeriesStyle},
    parts::{
        frame::{BODY_WIDTH, TICK, draw_heading},
        legend::{Legend, LegendKey},
        line_panel::{LinePanel, PLACES_HEIGHT, axis_over, draw_values},
    },
    view::{Caption, Categories, ChartValue, Picture, ValueAxis},
};

#[derive(Clone, Debug)]
pub(crate) struct LineChart {
    pub(crate) caption: Caption,
    /// The names of the lines.
    pub(crate) series: Vec<String>,
    /// From left to right, in all panels.
    pub(crate) places: Categories,
    pub(crate) panels: Vec<LineChartPanel>,
}

#[derive(Clone, Debug)]
pub(crate) struct LineChartPanel {
    pub(crate) axis: ValueAxis,
    /// Values that no line joins, each at a place.
    pub(crate) marks: Vec<(usize, ChartValue)>,
    /// By series and place.
    pub(crate) lines: Vec<Vec<Option<ChartValue>>>,
}

/// With the name of its numbers above it.
const PANEL: f64 = 240.0;
const NAME: f64 = 38.0;
const BEFORE_LEGEND: f64 = 8.0;

impl Picture for LineChart {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        let panels = PANEL * self.panels.len() as f64;
        panels + PLACES_HEIGHT + BEFORE_LEGEND + self.legend().height(BODY_WIDTH)
    }

    fn draw_body(&self, canvas: &mut Canvas, body: Rect) {
        let legend_height = self.legend().height(BODY_WIDTH);
        let panels = body.with_height(body.height - legend_height - BEFORE_LEGEND - PLACES_HEIGHT);
        let rows = panels.rows(self.panels.len(), 0.0);
        let rows: Vec<Rect> = rows.iter().map(|row| row.below(NAME)).collect();
        let axes = self.panels.iter().zip(&rows);
        let axes: Vec<Axis> = axes
            .map(|(panel, row)| axis_over(panel.values(), &panel.axis, *row))
            .collect();
        // All plots begin where the one with the widest numbers does.
        let numbers = axes.iter().map(|axis| axis.label_width(TICK));
        let left = 9.0 + numbers.fold(0.0, f64::max);
        for (index, panel) in self.panels.iter().enumerate() {
            let lines = LinePanel {
                plot: rows[index].right_of(left),
                places: &self.places,
                y: &axes[index],
            };
            lines.draw_ground(canvas);
            lines.draw_series(canvas, &panel.lines);
            for (place, value) in &panel.marks {
                lines.draw_mark(canvas, lines.x(*place), value, (PointMark::Ring, INK));
            }
            draw_values(canvas, lines.plot, lines.y);
            draw_heading(canvas, rows[index], &panel.axis.label());
            if index + 1 == self.panels.len() {
                lines.draw_places(canvas);
            }
        }
        let legend = body.below(body.height - legend_height);
        self.legend().draw(canvas, legend);
    }
}

impl LineChart {
    fn legend(&self) -> Legend {
        let names = self.series.iter().enumerate();
        names.fold(Legend::default(), |legend, (at, name)| {
            legend.with(LegendKey::Line(SeriesStyle::of(at)), name)
        })
    }
}

impl LineChartPanel {
    fn values(&self) -> impl Iterator<Item = &ChartValue> {
        let lines = self.lines.iter().flatten().flatten();
        let marks = self.marks.iter().map(|(_, value)| value);
        lines.chain(marks)
    }
}
