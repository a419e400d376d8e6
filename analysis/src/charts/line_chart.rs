//! Values at named places, joined by lines, in panels below each other with the same series.

use super::{
    draw::{
        Axis, Canvas, Colour, INK, Lettering, PointMark, Rect, draw_mark, error_bar, fitting, grey,
        line_style, widest, wrap,
    },
    parts::{
        frame::{TICK, draw_heading},
        legend::{Legend, LegendKey},
    },
    view::{Caption, Categories, ChartValue, Picture, ValueAxis},
};

#[derive(Clone, Debug)]
pub(crate) struct LineChart {
    pub(crate) caption: Caption,
    pub(crate) series: Vec<String>,
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
const PANEL: f64 = 250.0;
const NAME: f64 = 48.0;
/// The height of the labels below a plot, with their name.
const PLACES_HEIGHT: f64 = 86.0;
const BEFORE_LEGEND: f64 = 8.0;
/// Longer labels have several lines.
const SMALLEST: f64 = 14.0;
/// Lines are shifted, so that their bars stay apart.
const FURTHEST_APART: f64 = 16.0;

struct Plot {
    area: Rect,
    axis: Axis,
    places: usize,
}

impl Picture for LineChart {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        let panels = PANEL * self.panels.len() as f64;
        panels + PLACES_HEIGHT + BEFORE_LEGEND + self.legend().height()
    }

    fn draw_body(&self, canvas: &mut Canvas, body: Rect) {
        let mut plots: Vec<Plot> = Vec::new();
        for (index, panel) in self.panels.iter().enumerate() {
            let area = body.below(PANEL * index as f64 + NAME);
            let area = area.with_height(PANEL - NAME);
            draw_heading(canvas, area, &panel.axis.label());
            plots.push(Plot {
                area,
                axis: Axis::around(panel.values(), area),
                places: self.places.labels.len().max(1),
            });
        }
        // All plots begin where the one with the widest numbers does.
        let ticks = plots.iter().flat_map(|plot| &plot.axis.ticks);
        let left = 9.0 + widest(ticks.map(|(_, label)| label.as_str()), TICK, false);
        for (plot, panel) in plots.iter_mut().zip(&self.panels) {
            plot.area = plot.area.right_of(left);
            plot.draw_ground(canvas);
            plot.draw_lines(canvas, &panel.lines);
            for (place, value) in &panel.marks {
                plot.draw_value(canvas, plot.x(*place), value, (INK, PointMark::Ring));
            }
        }
        if let Some(lowest) = plots.last() {
            lowest.draw_places(canvas, &self.places);
        }
        let legend = self.legend();
        legend.draw(canvas, body.below(body.height - legend.height()));
    }
}

impl LineChart {
    fn legend(&self) -> Legend {
        let key = |series| {
            let (colour, mark) = line_style(series);
            LegendKey::Line(colour, mark)
        };
        let names = self.series.iter().enumerate();
        Legend(names.map(|(at, name)| (key(at), name.clone())).collect())
    }
}

impl LineChartPanel {
    fn values(&self) -> impl Iterator<Item = f64> {
        let lines = self.lines.iter().flatten().flatten();
        let marks = self.marks.iter().map(|(_, value)| value);
        let zero = self.axis.from_zero.then_some(0.0);
        let ends = |value: &ChartValue| {
            let (low, high) = value.interval.unwrap_or((value.value, value.value));
            [low, value.value, high]
        };
        lines.chain(marks).flat_map(ends).chain(zero)
    }
}

impl Plot {
    /// Lines at the ticks, a stronger one at zero, and the edges at the left and below.
    fn draw_ground(&self, canvas: &mut Canvas) {
        let (left, right) = (self.area.x, self.area.right());
        for (value, label) in &self.axis.ticks {
            let y = self.axis.y(*value);
            let colour = grey(if value.abs() < 1e-9 { 0x90 } else { 0xe2 });
            canvas.line((left, y), (right, y), colour, 1);
            canvas.text_across((left - 9.0, y), label, &Lettering::new(TICK).right());
        }
        let (edge, bottom) = (grey(0x60), self.area.bottom());
        canvas.line((left, self.area.y), (left, bottom), edge, 1);
        canvas.line((left, bottom), (right, bottom), edge, 1);
        for place in 0..self.places {
            let x = self.x(place);
            canvas.line((x, bottom), (x, bottom + 5.0), edge, 1);
        }
    }

    fn draw_lines(&self, canvas: &mut Canvas, lines: &[Vec<Option<ChartValue>>]) {
        let apart = FURTHEST_APART.min(0.6 * self.pitch() / lines.len().max(1) as f64);
        for (index, line) in lines.iter().enumerate() {
            let aside = apart * (index as f64 - (lines.len() as f64 - 1.0) / 2.0);
            let (colour, mark) = line_style(index);
            let x = |place: usize| self.x(place) + aside;
            for (place, ends) in line.windows(2).enumerate() {
                if let [Some(from), Some(to)] = ends {
                    let from = (x(place), self.axis.y(from.value));
                    canvas.line(from, (x(place + 1), self.axis.y(to.value)), colour, 2);
                }
            }
            for (place, value) in line.iter().enumerate() {
                if let Some(value) = value {
                    self.draw_value(canvas, x(place), value, (colour, mark));
                }
            }
        }
    }

    fn draw_value(
        &self,
        canvas: &mut Canvas,
        x: f64,
        value: &ChartValue,
        (colour, mark): (Colour, PointMark),
    ) {
        if let Some((low, high)) = value.interval {
            error_bar(canvas, x, (self.axis.y(low), self.axis.y(high)), colour);
        }
        draw_mark(canvas, (x, self.axis.y(value.value)), mark, colour);
    }

    fn draw_places(&self, canvas: &mut Canvas, places: &Categories) {
        let labels = &places.labels;
        let named = labels.iter().filter(|label| !label.is_empty()).count();
        let width = self.pitch() * (labels.len() / named.max(1)) as f64 - 6.0;
        let size = fitting(labels.iter().map(String::as_str), width, TICK, false).max(SMALLEST);
        let top = self.area.bottom() + 22.0;
        let mut bottom = top;
        for (place, label) in labels.iter().enumerate() {
            for (line, text) in (0_u8..).zip(wrap(label, width, size, false)) {
                let y = top + 1.2 * size * f64::from(line);
                canvas.text((self.x(place), y), &text, &Lettering::new(size).centred());
                bottom = y.max(bottom);
            }
        }
        let at = (self.area.centre().0, bottom + 24.0);
        let size = fitting([places.name.as_str()], self.area.width, TICK, false);
        canvas.text(at, &places.name, &Lettering::new(size).centred());
    }

    fn x(&self, place: usize) -> f64 {
        self.area.x + (place as f64 + 0.5) * self.pitch()
    }

    fn pitch(&self) -> f64 {
        self.area.width / self.places as f64
    }
}
