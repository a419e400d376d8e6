//! A plot with named places from left to right and numbers from bottom to top.

use crate::charts::{
    draw::{
        Axis, Canvas, Colour, INK, Lettering, Mark, Pen, Point, Rect, SeriesStyle, draw_mark,
        error_bar_y, extent, fitting, grey,
    },
    parts::{frame::TICK, legend::BAND_OPACITY},
    view::{Categories, Estimate, Quantity, Series},
};

pub(crate) struct LinePanel<'a> {
    pub(crate) plot: Rect,
    pub(crate) places: &'a Categories,
    pub(crate) y: &'a Axis,
}

/// What the places' labels and their name need below a plot.
pub(crate) const PLACES_HEIGHT: f64 = 54.0;
/// About how far apart the ticks of a vertical axis are.
pub(crate) const TICK_SPACING: f64 = 33.0;
const FURTHEST_APART: f64 = 16.0;

impl LinePanel<'_> {
    pub(crate) fn draw_ground(&self, canvas: &mut Canvas<'_>) {
        draw_ground(canvas, self.plot, self.y);
        for place in 0..self.places.labels.len() {
            let x = self.x(place);
            let foot = Point::new(x, self.plot.bottom());
            canvas.line(foot, Point::new(x, foot.y + 5.0), Pen::new(grey(0x60), 1.0));
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
    pub(crate) fn draw_band(&self, canvas: &mut Canvas<'_>, estimate: &Estimate, colour: Colour) {
        if let Some((low, high)) = estimate.interval {
            let (top, bottom) = (self.y.position(high), self.y.position(low));
            let band = Rect::new(self.plot.x, top, self.plot.width, bottom - top);
            canvas.shade(band, colour, BAND_OPACITY);
        }
        let y = self.y.position(estimate.value);
        let left = Point::new(self.plot.x, y);
        canvas.line(
            left,
            Point::new(self.plot.right(), y),
            Pen::new(colour, 2.0),
        );
    }

    /// One line per series; what is absent is left out. Beside each other, so that bars stay apart.
    pub(crate) fn draw_series(
        &self,
        canvas: &mut Canvas<'_>,
        series: &[Series],
        lines: &[Vec<Option<Estimate>>],
    ) {
        let apart = FURTHEST_APART.min(0.6 * self.pitch() / series.len().max(1) as f64);
        for (index, (one, line)) in series.iter().zip(lines).enumerate() {
            let aside = apart * (index as f64 - (series.len() as f64 - 1.0) / 2.0);
            self.draw_line(canvas, SeriesStyle::of(one.slot), line, aside);
        }
    }

    fn draw_line(
        &self,
        canvas: &mut Canvas<'_>,
        style: SeriesStyle,
        line: &[Option<Estimate>],
        aside: f64,
    ) {
        let mut before: Option<(usize, Point)> = None;
        for (place, estimate) in line.iter().enumerate() {
            let Some(estimate) = estimate else { continue };
            let point = Point::new(self.x(place) + aside, self.y.position(estimate.value));
            if let Some((last, from)) = before {
                // Nothing is known in between.
                let bridge = Pen::new(style.pen.colour, 1.0).dashed(&[2.0, 6.0]);
                canvas.line(
                    from,
                    point,
                    if place == last + 1 { style.pen } else { bridge },
                );
            }
            before = Some((place, point));
        }
        // Above the lines, which the next one would else be drawn over.
        for (place, estimate) in line.iter().enumerate() {
            if let Some(estimate) = estimate {
                self.draw_mark(
                    canvas,
                    self.x(place) + aside,
                    estimate,
                    (style.mark, style.pen.colour),
                );
            }
        }
    }

    /// With its interval.
    pub(crate) fn draw_mark(
        &self,
        canvas: &mut Canvas<'_>,
        x: f64,
        estimate: &Estimate,
        (mark, colour): (Mark, Colour),
    ) {
        if let Some((low, high)) = estimate.interval {
            error_bar_y(
                canvas,
                x,
                (self.y.position(low), self.y.position(high)),
                colour,
            );
        }
        draw_mark(
            canvas,
            Point::new(x, self.y.position(estimate.value)),
            mark,
            colour,
        );
    }

    pub(crate) fn x(&self, place: usize) -> f64 {
        self.plot.x + (place as f64 + 0.5) * self.pitch()
    }

    fn pitch(&self) -> f64 {
        self.plot.width / self.places.labels.len().max(1) as f64
    }
}

/// An axis upwards over all estimates; none for nothing to show.
pub(crate) fn axis_over<'e>(
    estimates: impl IntoIterator<Item = &'e Estimate>,
    quantity: &Quantity,
    plot: Rect,
) -> Axis {
    let parts = estimates.into_iter().map(Estimate::extent);
    let zero = quantity.from_zero.then_some((0.0, 0.0));
    let range = extent(parts.chain(zero)).unwrap_or((0.0, 1.0));
    Axis::linear(range, (plot.bottom(), plot.y), TICK_SPACING)
}

/// Lines at the ticks, a stronger one at zero, and the edges at the left and below.
pub(crate) fn draw_ground(canvas: &mut Canvas<'_>, plot: Rect, y: &Axis) {
    for tick in &y.ticks {
        let at = y.position(tick.value);
        let pen = if tick.value == 0.0 {
            Pen::new(grey(0x90), 1.5)
        } else {
            Pen::new(grey(0xe2), 1.0)
        };
        canvas.line(Point::new(plot.x, at), Point::new(plot.right(), at), pen);
    }
    draw_edges(canvas, plot);
}

pub(crate) fn draw_edges(canvas: &mut Canvas<'_>, plot: Rect) {
    let pen = Pen::new(grey(0x60), 1.0);
    let corner = Point::new(plot.x, plot.bottom());
    canvas.line(Point::new(plot.x, plot.y), corner, pen);
    canvas.line(corner, Point::new(plot.right(), plot.bottom()), pen);
}

/// The numbers beside a plot.
pub(crate) fn draw_values(canvas: &mut Canvas<'_>, plot: Rect, y: &Axis) {
    for tick in &y.ticks {
        let at = Point::new(plot.x - 9.0, y.position(tick.value));
        canvas.text_across(at, &tick.label, &Lettering::new(TICK).right());
    }
}

/// What the numbers beside a plot are, turned upward at `x`.
pub(crate) fn draw_side_name(canvas: &mut Canvas<'_>, plot: Rect, x: f64, name: &str) {
    let size = fitting([name], plot.height + 20.0, TICK, false);
    let style = Lettering::new(size).colour(INK).centred().upward();
    canvas.text_across(Point::new(x, plot.centre().y), name, &style);
}
