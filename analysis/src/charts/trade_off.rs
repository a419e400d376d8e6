//! The benefit of each variant in one metric, and its cost in another.

use super::{
    draw::{
        Axis, Canvas, Colour, Lettering, Pen, Point, Rect, SeriesStyle, draw_mark, error_bar,
        extent, fitting, width_of,
    },
    parts::{frame::TICK, point_labels, xy_plot::XyPlot},
    view::{Caption, ChartValue, Picture, ValueAxis},
};

#[derive(Clone, Debug)]
pub(crate) struct TradeOff {
    pub(crate) caption: Caption,
    /// Higher is better.
    pub(crate) x: ValueAxis,
    /// Lower is better.
    pub(crate) y: ValueAxis,
    /// Explains the lower right corner: "better: more throughput, lower latency".
    pub(crate) good_corner: String,
    pub(crate) points: Vec<TradePoint>,
}

#[derive(Clone, Debug)]
pub(crate) struct TradePoint {
    pub(crate) name: String,
    /// As in [`super::ChartSeries`].
    pub(crate) slot: usize,
    pub(crate) x: ChartValue,
    pub(crate) y: ChartValue,
}

const PLOT_HEIGHT: f64 = 640.0;
const BELOW: f64 = 60.0;
const LINE: f64 = 1.3;
const GOOD: Colour = Colour(0x00, 0x72, 0xb2);

impl Picture for TradeOff {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        PLOT_HEIGHT + BELOW
    }

    fn draw_body(&self, canvas: &mut Canvas<'_>, body: Rect) {
        let place = body.with_height(PLOT_HEIGHT);
        let upward = (place.bottom(), place.y);
        let y = axis(self.points.iter().map(|point| &point.y), upward, 50.0);
        let plot = XyPlot::new(place, 20.0, y, |area| {
            let across = (area.x, area.right());
            axis(self.points.iter().map(|point| &point.x), across, 90.0)
        });
        // The quarter in which neither got worse.
        let zero = plot.point(0.0, 0.0);
        let quarter = plot.area.right_of(zero.x - plot.area.x);
        let quarter = quarter.below(zero.y - plot.area.y);
        canvas.shade(quarter, GOOD, 0.07);
        plot.draw_columns(canvas);
        plot.draw_axes(canvas, &self.x.label(), &self.y.label());
        let corner = self.draw_corner_text(canvas, plot.area, quarter);
        for point in &self.points {
            point.draw_bars(canvas, &plot);
        }
        // After all bars, so that no bar hides a point.
        for point in &self.points {
            let style = SeriesStyle::of(point.slot);
            draw_mark(canvas, point.at(&plot), style.mark, style.pen.colour);
        }
        self.draw_names(canvas, &plot, corner);
    }
}

impl TradeOff {
    /// In the corner of the plot, and inside the good quarter unless that is tiny. Returns its place.
    fn draw_corner_text(&self, canvas: &mut Canvas<'_>, plot: Rect, quarter: Rect) -> Rect {
        let room = (quarter.width - 20.0).max(300.0);
        let size = fitting([self.good_corner.as_str()], room, TICK, true);
        let (width, height) = (width_of(&self.good_corner, size, true), LINE * size);
        let (right, bottom) = (plot.right() - 10.0, plot.bottom() - 6.0);
        let place = Rect::new(right - width, bottom - height, width, height);
        let at = Point::new(place.x, place.centre().y);
        let style = Lettering::new(size).bold().colour(GOOD);
        canvas.text_across(at, &self.good_corner, &style);
        place
    }

    fn draw_names(&self, canvas: &mut Canvas<'_>, plot: &XyPlot, corner: Rect) {
        let (zero, area) = (plot.point(0.0, 0.0), plot.area);
        let mut taken = vec![
            corner,
            Rect::new(zero.x - 1.0, area.y, 2.0, area.height),
            Rect::new(area.x, zero.y - 1.0, area.width, 2.0),
        ];
        taken.extend(self.points.iter().flat_map(|point| point.covers(plot)));
        for point in &self.points {
            let at = point.at(plot);
            let label = point_labels::place(at, &point.name, TICK, area, &taken);
            if let Some(end) = point_labels::leader(at, label) {
                let colour = SeriesStyle::of(point.slot).pen.colour;
                canvas.line(at, end, Pen::new(colour, 1.0));
            }
            let middle = Point::new(label.x, label.centre().y);
            canvas.text_across(middle, &point.name, &Lettering::new(TICK));
            taken.push(label);
        }
    }
}

impl TradePoint {
    fn at(&self, plot: &XyPlot) -> Point {
        plot.point(self.x.value, self.y.value)
    }

    fn draw_bars(&self, canvas: &mut Canvas<'_>, plot: &XyPlot) {
        let colour = SeriesStyle::of(self.slot).pen.colour;
        if let Some((low, high)) = self.x.interval {
            let ends = [low, high].map(|x| plot.point(x, self.y.value));
            error_bar(canvas, ends, colour);
        }
        if let Some((low, high)) = self.y.interval {
            let ends = [low, high].map(|y| plot.point(self.x.value, y));
            error_bar(canvas, ends, colour);
        }
    }

    /// The places that a name must not cover: the marker and both bars.
    fn covers(&self, plot: &XyPlot) -> [Rect; 3] {
        let at = self.at(plot);
        let ((left, right), (low, high)) = (self.x.extent(), self.y.extent());
        let (least, most) = (plot.point(left, low), plot.point(right, high));
        [
            Rect::new(at.x - 9.0, at.y - 9.0, 18.0, 18.0),
            Rect::new(least.x, at.y - 6.0, most.x - least.x, 12.0),
            Rect::new(at.x - 6.0, most.y, 12.0, least.y - most.y),
        ]
    }
}

/// Zero and all intervals, with some room at both ends.
fn axis<'e>(
    values: impl Iterator<Item = &'e ChartValue>,
    pixels: (f64, f64),
    spacing: f64,
) -> Axis {
    let parts = values.map(ChartValue::extent).chain([(0.0, 0.0)]);
    let (low, high) = extent(parts).unwrap_or((0.0, 0.0));
    let room = 0.03 * (high - low);
    Axis::linear((low - room, high + room), pixels, spacing)
}
