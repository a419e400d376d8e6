//! What a variant gains against what it costs.

use super::{
    Picture,
    draw::{
        Axis, Canvas, Colour, Lettering, Pen, Point, Rect, SeriesStyle, draw_mark, error_bar_x,
        error_bar_y, extent, fitting, grey, width_of,
    },
    parts::{
        frame::TICK,
        line_panel::{draw_edges, draw_side_name, draw_values},
        point_labels,
    },
    view::{Better, Caption, Estimate, Quantity},
};

#[derive(Clone, Debug)]
pub(crate) struct TradeOff {
    pub(crate) caption: Caption,
    pub(crate) x: Quantity,
    pub(crate) y: Quantity,
    pub(crate) x_better: Better,
    pub(crate) y_better: Better,
    /// What is better in the good corner: "better: more throughput, shorter delay".
    pub(crate) good_corner: String,
    pub(crate) points: Vec<TradePoint>,
}

#[derive(Clone, Debug)]
pub(crate) struct TradePoint {
    pub(crate) name: String,
    /// As in [`super::Series`].
    pub(crate) slot: usize,
    pub(crate) x: Estimate,
    pub(crate) y: Estimate,
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
        let (plot, x, y) = self.axes(body);
        let quarter = self.good_quarter(plot, &x, &y);
        canvas.shade(quarter, GOOD, 0.07);
        draw_net(canvas, plot, &x, &y);
        draw_values(canvas, plot, &y);
        draw_side_name(canvas, plot, body.x + 10.0, &self.y.label());
        self.draw_x(canvas, plot, &x);
        let corner = self.corner_text(plot, quarter);
        self.draw_corner_text(canvas, corner);
        for point in &self.points {
            point.draw_bars(canvas, &x, &y);
        }
        // No bar hides a point.
        for point in &self.points {
            point.draw_mark(canvas, &x, &y);
        }
        self.draw_names(canvas, plot, (&x, &y), corner);
    }
}

impl TradeOff {
    fn axes(&self, body: Rect) -> (Rect, Axis, Axis) {
        let upward = (body.y + PLOT_HEIGHT, body.y);
        let y = axis(self.points.iter().map(|point| &point.y), upward, 50.0);
        let plot = body
            .with_height(PLOT_HEIGHT)
            .right_of(y.label_width(TICK) + 40.0);
        // The last tick's label is half outside.
        let plot = plot.with_width(plot.width - 20.0);
        let across = (plot.x, plot.right());
        let x = axis(self.points.iter().map(|point| &point.x), across, 90.0);
        (plot, x, y)
    }

    fn draw_corner_text(&self, canvas: &mut Canvas<'_>, place: Rect) {
        let style = Lettering::new(place.height / LINE).bold().colour(GOOD);
        canvas.text_across(
            Point::new(place.x, place.centre().y),
            &self.good_corner,
            &style,
        );
    }

    /// The quarter in which nothing got worse.
    fn good_quarter(&self, plot: Rect, x: &Axis, y: &Axis) -> Rect {
        let zero = Point::new(x.position(0.0), y.position(0.0));
        let (left, right) = match self.x_better {
            Better::Higher => (zero.x, plot.right()),
            Better::Lower => (plot.x, zero.x),
        };
        let (top, bottom) = match self.y_better {
            Better::Higher => (plot.y, zero.y),
            Better::Lower => (zero.y, plot.bottom()),
        };
        Rect::new(left, top, right - left, bottom - top)
    }

    /// In the corner of the plot, and inside of the good quarter unless that is tiny.
    fn corner_text(&self, plot: Rect, quarter: Rect) -> Rect {
        let room = (quarter.width - 20.0).max(300.0);
        let size = fitting([self.good_corner.as_str()], room, TICK, true);
        let (width, height) = (width_of(&self.good_corner, size, true), LINE * size);
        let x = match self.x_better {
            Better::Higher => plot.right() - 10.0 - width,
            Better::Lower => plot.x + 10.0,
        };
        let y = match self.y_better {
            Better::Higher => plot.y + 6.0,
            Better::Lower => plot.bottom() - 6.0 - height,
        };
        Rect::new(x, y, width, height)
    }

    fn draw_x(&self, canvas: &mut Canvas<'_>, plot: Rect, x: &Axis) {
        let style = Lettering::new(TICK).centred();
        for tick in x.labels_with_room(TICK) {
            let at = Point::new(x.position(tick.value), plot.bottom() + 28.0);
            canvas.text(at, &tick.label, &style);
        }
        canvas.text(
            Point::new(plot.centre().x, plot.bottom() + 52.0),
            &self.x.label(),
            &style,
        );
    }

    fn draw_names(
        &self,
        canvas: &mut Canvas<'_>,
        plot: Rect,
        (x, y): (&Axis, &Axis),
        corner: Rect,
    ) {
        let zero = (x.position(0.0), y.position(0.0));
        let mut taken = vec![
            corner,
            Rect::new(zero.0 - 1.0, plot.y, 2.0, plot.height),
            Rect::new(plot.x, zero.1 - 1.0, plot.width, 2.0),
        ];
        taken.extend(self.points.iter().flat_map(|point| point.covers(x, y)));
        for point in &self.points {
            let at = point.at(x, y);
            let label = point_labels::place(at, &point.name, TICK, plot, &taken);
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
    fn at(&self, x: &Axis, y: &Axis) -> Point {
        Point::new(x.position(self.x.value), y.position(self.y.value))
    }

    fn draw_bars(&self, canvas: &mut Canvas<'_>, x: &Axis, y: &Axis) {
        let (at, colour) = (self.at(x, y), SeriesStyle::of(self.slot).pen.colour);
        if let Some((low, high)) = self.x.interval {
            error_bar_x(canvas, at.y, (x.position(low), x.position(high)), colour);
        }
        if let Some((low, high)) = self.y.interval {
            error_bar_y(canvas, at.x, (y.position(low), y.position(high)), colour);
        }
    }

    fn draw_mark(&self, canvas: &mut Canvas<'_>, x: &Axis, y: &Axis) {
        let style = SeriesStyle::of(self.slot);
        draw_mark(canvas, self.at(x, y), style.mark, style.pen.colour);
    }

    /// What a name must not hide: the marker and both bars.
    fn covers(&self, x: &Axis, y: &Axis) -> [Rect; 3] {
        let at = self.at(x, y);
        let ((left, right), (low, high)) = (self.x.extent(), self.y.extent());
        let (left, right) = (x.position(left), x.position(right));
        let (top, bottom) = (y.position(high), y.position(low));
        [
            Rect::new(at.x - 9.0, at.y - 9.0, 18.0, 18.0),
            Rect::new(left, at.y - 6.0, right - left, 12.0),
            Rect::new(at.x - 6.0, top, 12.0, bottom - top),
        ]
    }
}

/// Zero and all intervals, with some room at both ends.
fn axis<'e>(
    estimates: impl Iterator<Item = &'e Estimate>,
    pixels: (f64, f64),
    spacing: f64,
) -> Axis {
    let parts = estimates.map(Estimate::extent).chain([(0.0, 0.0)]);
    let (low, high) = extent(parts).unwrap_or((0.0, 0.0));
    let room = 0.03 * (high - low);
    Axis::linear((low - room, high + room), pixels, spacing)
}

/// Lines at all ticks, strong ones where nothing changed.
fn draw_net(canvas: &mut Canvas<'_>, plot: Rect, x: &Axis, y: &Axis) {
    let pen = |value: f64| {
        if value == 0.0 {
            Pen::new(grey(0x60), 1.5)
        } else {
            Pen::new(grey(0xe2), 1.0)
        }
    };
    for tick in &x.ticks {
        let at = x.position(tick.value);
        canvas.line(
            Point::new(at, plot.y),
            Point::new(at, plot.bottom()),
            pen(tick.value),
        );
    }
    for tick in &y.ticks {
        let at = y.position(tick.value);
        canvas.line(
            Point::new(plot.x, at),
            Point::new(plot.right(), at),
            pen(tick.value),
        );
    }
    draw_edges(canvas, plot);
}
