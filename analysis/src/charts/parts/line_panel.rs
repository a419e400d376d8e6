//! A plot with named places from left to right and numbers from bottom to top.

use crate::charts::{
    draw::{
        Axis, Canvas, Colour, Lettering, Pen, Point, PointMark, Rect, SeriesStyle, draw_mark,
        error_bar, extent, fitting, grey, wrap,
    },
    parts::frame::TICK,
    view::{Categories, ChartValue, ValueAxis},
};

pub(crate) struct LinePanel<'a> {
    pub(crate) plot: Rect,
    pub(crate) places: &'a Categories,
    pub(crate) y: &'a Axis,
}

/// The height of the labels below a plot, with their name.
pub(crate) const PLACES_HEIGHT: f64 = 86.0;
/// Longer labels have several lines.
const SMALLEST: f64 = 14.0;
/// The approximate distance between the ticks of a vertical axis.
pub(crate) const TICK_SPACING: f64 = 33.0;
const FURTHEST_APART: f64 = 16.0;

impl LinePanel<'_> {
    pub(crate) fn draw_ground(&self, canvas: &mut Canvas) {
        draw_ground(canvas, self.plot, self.y);
        for place in 0..self.places.labels.len() {
            draw_foot(canvas, self.plot, self.x(place));
        }
    }

    pub(crate) fn draw_places(&self, canvas: &mut Canvas) {
        let labels = &self.places.labels;
        let named = labels.iter().filter(|label| !label.is_empty()).count();
        let width = self.pitch() * (labels.len() / named.max(1)) as f64 - 6.0;
        let size = fitting(labels.iter().map(String::as_str), width, TICK, false).max(SMALLEST);
        let top = self.plot.bottom() + 22.0;
        let mut bottom = top;
        for (place, label) in labels.iter().enumerate() {
            for (line, text) in (0_u8..).zip(wrap(label, width, size, false)) {
                let at = Point::new(self.x(place), top + 1.2 * size * f64::from(line));
                canvas.text(at, &text, &Lettering::new(size).centred());
                bottom = at.y.max(bottom);
            }
        }
        let at = Point::new(self.plot.centre().x, bottom + 24.0);
        let size = fitting([self.places.name.as_str()], self.plot.width, TICK, false);
        canvas.text(at, &self.places.name, &Lettering::new(size).centred());
    }

    /// One line per series, with gaps where values are absent. Lines are shifted, so that bars stay apart.
    pub(crate) fn draw_series(&self, canvas: &mut Canvas, lines: &[Vec<Option<ChartValue>>]) {
        let apart = FURTHEST_APART.min(0.6 * self.pitch() / lines.len().max(1) as f64);
        for (index, line) in lines.iter().enumerate() {
            let aside = apart * (index as f64 - (lines.len() as f64 - 1.0) / 2.0);
            let SeriesStyle { pen, mark } = SeriesStyle::of(index);
            let x = |place: usize| self.x(place) + aside;
            for (place, ends) in line.windows(2).enumerate() {
                if let [Some(from), Some(to)] = ends {
                    let from = self.point(x(place), from.value);
                    canvas.line(from, self.point(x(place + 1), to.value), pen);
                }
            }
            for (place, value) in line.iter().enumerate() {
                if let Some(value) = value {
                    self.draw_mark(canvas, x(place), value, (mark, pen.colour));
                }
            }
        }
    }

    /// With its interval.
    pub(crate) fn draw_mark(
        &self,
        canvas: &mut Canvas,
        x: f64,
        value: &ChartValue,
        (mark, colour): (PointMark, Colour),
    ) {
        if let Some((low, high)) = value.interval {
            error_bar(canvas, [low, high].map(|end| self.point(x, end)), colour);
        }
        draw_mark(canvas, self.point(x, value.value), mark, colour);
    }

    fn point(&self, x: f64, value: f64) -> Point {
        Point::new(x, self.y.position(value))
    }

    pub(crate) fn x(&self, place: usize) -> f64 {
        self.plot.x + (place as f64 + 0.5) * self.pitch()
    }

    fn pitch(&self) -> f64 {
        self.plot.width / self.places.labels.len().max(1) as f64
    }
}

/// The vertical axis over all of these values, and over zero if the axis always includes it.
pub(crate) fn axis_over<'e>(
    values: impl IntoIterator<Item = &'e ChartValue>,
    axis: &ValueAxis,
    plot: Rect,
) -> Axis {
    let parts = values.into_iter().map(ChartValue::extent);
    let zero = axis.from_zero.then_some((0.0, 0.0));
    let range = extent(parts.chain(zero)).unwrap_or((0.0, 1.0));
    Axis::linear(range, (plot.bottom(), plot.y), TICK_SPACING)
}

/// Lines at the ticks, a stronger one at zero, and the edges at the left and below.
fn draw_ground(canvas: &mut Canvas, plot: Rect, y: &Axis) {
    for tick in &y.ticks {
        let at = y.position(tick.value);
        let ends = [plot.x, plot.right()].map(|x| Point::new(x, at));
        let pen = if tick.value == 0.0 {
            Pen::new(grey(0x90), 1.5)
        } else {
            Pen::new(grey(0xe2), 1.0)
        };
        canvas.line(ends[0], ends[1], pen);
    }
    let pen = Pen::new(grey(0x60), 1.0);
    let corner = Point::new(plot.x, plot.bottom());
    canvas.line(Point::new(plot.x, plot.y), corner, pen);
    canvas.line(corner, Point::new(plot.right(), plot.bottom()), pen);
}

/// The numbers beside a plot.
pub(crate) fn draw_values(canvas: &mut Canvas, plot: Rect, y: &Axis) {
    for tick in &y.ticks {
        let at = Point::new(plot.x - 9.0, y.position(tick.value));
        canvas.text_across(at, &tick.label, &Lettering::new(TICK).right());
    }
}

/// A short line below the plot.
fn draw_foot(canvas: &mut Canvas, plot: Rect, x: f64) {
    let foot = Point::new(x, plot.bottom());
    canvas.line(foot, Point::new(x, foot.y + 5.0), Pen::new(grey(0x60), 1.0));
}
