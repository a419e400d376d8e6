//! A plot with named places from left to right and numbers from bottom to top.

use crate::charts::{
    draw::{
        Axis, Canvas, Colour, Lettering, Pen, Point, PointMark, Rect, SeriesStyle, draw_mark,
        error_bar, extent, fitting, grey, wrap,
    },
    parts::{frame::TICK, legend::BAND_OPACITY},
    view::{Categories, ChartSeries, ChartValue, ValueAxis},
};

pub(crate) struct LinePanel<'a> {
    pub(crate) plot: Rect,
    pub(crate) places: &'a Categories,
    pub(crate) y: &'a Axis,
}

/// The height of the labels below a plot, with their name.
pub(crate) const PLACES_HEIGHT: f64 = 54.0;
/// The approximate distance between the ticks of a vertical axis.
pub(crate) const TICK_SPACING: f64 = 33.0;
const FURTHEST_APART: f64 = 16.0;
const LINE: f64 = 20.0;

impl LinePanel<'_> {
    pub(crate) fn draw_ground(&self, canvas: &mut Canvas<'_>) {
        draw_ground(canvas, self.plot, self.y);
        for place in 0..self.places.labels.len() {
            draw_foot(canvas, self.plot, self.x(place));
        }
    }

    pub(crate) fn draw_places(&self, canvas: &mut Canvas<'_>) {
        let labels = self.places.labels.iter().map(String::as_str);
        let size = fitting(labels, self.pitch() - 6.0, TICK, false);
        for (place, label) in self.places.labels.iter().enumerate() {
            let at = Point::new(self.x(place), self.plot.bottom() + 22.0);
            canvas.text(at, label, &Lettering::new(size).centred());
        }
        let at = Point::new(self.plot.centre().x, self.plot.bottom() + 46.0);
        let size = fitting([self.places.name.as_str()], self.plot.width, TICK, false);
        canvas.text(at, &self.places.name, &Lettering::new(size).centred());
    }

    /// A value that holds for all places.
    pub(crate) fn draw_band(&self, canvas: &mut Canvas<'_>, value: &ChartValue, colour: Colour) {
        if let Some((low, high)) = value.interval {
            let (top, bottom) = (self.y.position(high), self.y.position(low));
            let band = Rect::new(self.plot.x, top, self.plot.width, bottom - top);
            canvas.shade(band, colour, BAND_OPACITY);
        }
        let y = self.y.position(value.value);
        let left = Point::new(self.plot.x, y);
        canvas.line(
            left,
            Point::new(self.plot.right(), y),
            Pen::new(colour, 2.0),
        );
    }

    /// One line per series, without the values that are absent. Lines are shifted, so that bars stay apart.
    pub(crate) fn draw_series(
        &self,
        canvas: &mut Canvas<'_>,
        series: &[ChartSeries],
        lines: &[Vec<Option<ChartValue>>],
    ) {
        let apart = FURTHEST_APART.min(0.6 * self.pitch() / series.len().max(1) as f64);
        for (index, (one, line)) in series.iter().zip(lines).enumerate() {
            let aside = apart * (index as f64 - (series.len() as f64 - 1.0) / 2.0);
            let values = line.iter().enumerate();
            let values = values.filter_map(|(place, value)| Some((place, value.as_ref()?)));
            let values: Vec<(usize, &ChartValue)> = values.collect();
            let style = SeriesStyle::of(one.slot);
            for ends in values.windows(2) {
                let [from, to] = [ends[0], ends[1]]
                    .map(|(place, of)| self.point(self.x(place) + aside, of.value));
                // Thin across a gap, since the values in between are unknown.
                let bridge = Pen::new(style.pen.colour, 1.0).dashed(&[2.0, 6.0]);
                let is_gap = ends[0].0 + 1 < ends[1].0;
                canvas.line(from, to, if is_gap { bridge } else { style.pen });
            }
            for (place, value) in values {
                let look = (style.mark, style.pen.colour);
                self.draw_mark(canvas, self.x(place) + aside, value, look);
            }
        }
    }

    /// With its interval.
    pub(crate) fn draw_mark(
        &self,
        canvas: &mut Canvas<'_>,
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
pub(crate) fn draw_ground(canvas: &mut Canvas<'_>, plot: Rect, y: &Axis) {
    for tick in &y.ticks {
        let at = y.position(tick.value);
        let ends = [plot.x, plot.right()].map(|x| Point::new(x, at));
        canvas.line(ends[0], ends[1], grid_pen(tick.value));
    }
    let pen = Pen::new(grey(0x60), 1.0);
    let corner = Point::new(plot.x, plot.bottom());
    canvas.line(Point::new(plot.x, plot.y), corner, pen);
    canvas.line(corner, Point::new(plot.right(), plot.bottom()), pen);
}

/// The pen of a grid line; stronger at zero.
pub(crate) fn grid_pen(value: f64) -> Pen {
    if value == 0.0 {
        Pen::new(grey(0x90), 1.5)
    } else {
        Pen::new(grey(0xe2), 1.0)
    }
}

/// The numbers beside a plot.
pub(crate) fn draw_values(canvas: &mut Canvas<'_>, plot: Rect, y: &Axis) {
    for tick in &y.ticks {
        let at = Point::new(plot.x - 9.0, y.position(tick.value));
        canvas.text_across(at, &tick.label, &Lettering::new(TICK).right());
    }
}

fn side_lines(name: &str, plot_height: f64) -> Vec<String> {
    wrap(name, plot_height + 20.0, TICK, false)
}

/// The width that a name and the widest numbers of some axes need beside plots of this height.
pub(crate) fn side_width<'a>(
    sides: impl IntoIterator<Item = (&'a Axis, String)>,
    plot_height: f64,
) -> f64 {
    let (mut numbers, mut lines) = (0.0_f64, 1);
    for (axis, name) in sides {
        numbers = numbers.max(axis.label_width(TICK));
        lines = lines.max(side_lines(&name, plot_height).len());
    }
    numbers + 40.0 + LINE * (lines - 1) as f64
}

/// The name of the numbers beside a plot, turned upward at `x`.
pub(crate) fn draw_side_name(canvas: &mut Canvas<'_>, plot: Rect, x: f64, name: &str) {
    let style = Lettering::new(TICK).centred().upward();
    for (line, text) in side_lines(name, plot.height).iter().enumerate() {
        let at = Point::new(x + LINE * line as f64, plot.centre().y);
        canvas.text_across(at, text, &style);
    }
}

/// A short line below the plot.
pub(crate) fn draw_foot(canvas: &mut Canvas<'_>, plot: Rect, x: f64) {
    let foot = Point::new(x, plot.bottom());
    canvas.line(foot, Point::new(x, foot.y + 5.0), Pen::new(grey(0x60), 1.0));
}
