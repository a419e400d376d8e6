//! A quantity over time, with the trend through it if there is one.

use super::{
    Picture,
    draw::{Axis, Canvas, Colour, Lettering, Pen, Point, Rect, extent, grey},
    parts::{
        frame::{BODY_WIDTH, TICK},
        legend::{Legend, Sample},
        line_panel::{TICK_SPACING, draw_ground, draw_side_name, draw_values},
    },
    view::{Caption, Quantity},
};

#[derive(Clone, Debug)]
pub(crate) struct TimeSeries {
    pub(crate) caption: Caption,
    pub(crate) quantity: Quantity,
    /// The unit of times: "h".
    pub(crate) time_unit: String,
    /// In ascending order; what was not measured is a gap.
    pub(crate) points: Vec<(f64, Option<f64>)>,
    /// Until when nothing is tested.
    pub(crate) warm_up: f64,
    pub(crate) trend: Option<TrendLine>,
}

#[derive(Clone, Debug)]
pub(crate) struct TrendLine {
    pub(crate) from: (f64, f64),
    pub(crate) to: (f64, f64),
    /// What the legend calls it.
    pub(crate) name: String,
}

const PLOT_HEIGHT: f64 = 330.0;
const TIMES_HEIGHT: f64 = 54.0;
const BEFORE_LEGEND: f64 = 8.0;
const TIME_TICK_SPACING: f64 = 90.0;
/// The last tick's label is half outside.
const RIGHT: f64 = 30.0;

const MEASURED: Colour = Colour(0x00, 0x72, 0xb2);
const TREND: Colour = Colour(0xd5, 0x5e, 0x00);
const WARM_UP: Colour = Colour(0xe4, 0xe4, 0xe4);

impl Picture for TimeSeries {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        PLOT_HEIGHT + TIMES_HEIGHT + BEFORE_LEGEND + self.legend().height(BODY_WIDTH)
    }

    fn draw_body(&self, canvas: &mut Canvas<'_>, body: Rect) {
        let plot = body.with_height(PLOT_HEIGHT);
        let y = self.value_axis(plot);
        let plot = plot.right_of(y.label_width(TICK) + 40.0);
        let plot = plot.with_width(plot.width - RIGHT);
        let x = self.time_axis(plot);
        self.draw_warm_up(canvas, plot, &x);
        draw_ground(canvas, plot, &y);
        draw_values(canvas, plot, &y);
        draw_side_name(canvas, plot, body.x + 10.0, &self.quantity.label());
        self.draw_times(canvas, plot, &x);
        self.draw_points(canvas, &x, &y);
        if let Some(trend) = &self.trend {
            let at = |(time, value): (f64, f64)| Point::new(x.position(time), y.position(value));
            canvas.line(at(trend.from), at(trend.to), trend_pen());
        }
        let legend = self.legend();
        let height = legend.height(BODY_WIDTH);
        legend.draw(canvas, body.below(body.height - height));
    }
}

fn trend_pen() -> Pen {
    Pen::new(TREND, 3.0).dashed(&[12.0, 7.0])
}

impl TimeSeries {
    fn draw_warm_up(&self, canvas: &mut Canvas<'_>, plot: Rect, x: &Axis) {
        let right = x.position(self.warm_up).clamp(plot.x, plot.right());
        canvas.fill(plot.with_width(right - plot.x), WARM_UP);
    }

    fn draw_times(&self, canvas: &mut Canvas<'_>, plot: Rect, x: &Axis) {
        for tick in &x.ticks {
            let foot = Point::new(x.position(tick.value), plot.bottom());
            canvas.line(
                foot,
                Point::new(foot.x, foot.y + 5.0),
                Pen::new(grey(0x60), 1.0),
            );
        }
        let style = Lettering::new(TICK).centred();
        for tick in x.labels_with_room(TICK) {
            let at = Point::new(x.position(tick.value), plot.bottom() + 22.0);
            canvas.text(at, &tick.label, &style);
        }
        let name = format!("time since all peers were connected, {}", self.time_unit);
        let at = Point::new(plot.centre().x, plot.bottom() + 46.0);
        canvas.text(at, &name, &style);
    }

    /// A line through what follows each other, and a dot for what stands alone.
    fn draw_points(&self, canvas: &mut Canvas<'_>, x: &Axis, y: &Axis) {
        const FEW: usize = 100;
        let pen = Pen::new(MEASURED, if self.points.len() > FEW { 1.5 } else { 2.5 });
        for run in self.points.split(|(_, value)| value.is_none()) {
            let at = |(time, value): &(f64, Option<f64>)| {
                Some(Point::new(x.position(*time), y.position((*value)?)))
            };
            let line: Vec<Point> = run.iter().filter_map(at).collect();
            match line.as_slice() {
                [] => {}
                [alone] => canvas.dot(*alone, 3.0, MEASURED),
                line => canvas.path(line, pen),
            }
        }
    }

    fn value_axis(&self, plot: Rect) -> Axis {
        let values = self.points.iter().filter_map(|(_, value)| *value);
        let ends = self.trend.iter().flat_map(|it| [it.from.1, it.to.1]);
        let zero = self.quantity.from_zero.then_some(0.0);
        let all = values.chain(ends).chain(zero);
        let range = extent(all.map(|value| (value, value))).unwrap_or((0.0, 1.0));
        Axis::linear(range, (plot.bottom(), plot.y), TICK_SPACING)
    }

    fn time_axis(&self, plot: Rect) -> Axis {
        let last = self.points.last().map_or(1.0, |(time, _)| *time);
        let scale = Axis::linear((0.0, last), (plot.x, plot.right()), TIME_TICK_SPACING);
        // As far as anything was measured, and not to the next round number.
        let ticks = scale.ticks.into_iter().filter(|tick| tick.value <= last);
        Axis::with_ticks(ticks.collect(), (0.0, last), (plot.x, plot.right()))
    }

    fn legend(&self) -> Legend {
        let legend = Legend::default()
            .with(Sample::Rule(Pen::new(MEASURED, 2.5)), "measured")
            .with(Sample::Patch(WARM_UP), "warm-up, not tested");
        match &self.trend {
            Some(trend) => legend.with(Sample::Rule(trend_pen()), &trend.name),
            None => legend,
        }
    }
}
