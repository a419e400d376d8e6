//! One quantity over time, with its trend if there is one.

use super::{
    draw::{Axis, Canvas, Colour, Pen, Point, Rect},
    parts::{
        frame::BODY_WIDTH,
        legend::{Legend, LegendKey},
        line_panel::{PLACES_HEIGHT, axis_over},
        xy_plot::XyPlot,
    },
    view::{Caption, ChartValue, Picture, ValueAxis},
};

#[derive(Clone, Debug)]
pub(crate) struct TimeSeries {
    pub(crate) caption: Caption,
    pub(crate) axis: ValueAxis,
    /// The unit of times: "h".
    pub(crate) time_unit: String,
    /// Times in ascending order, each with its value. A value that was not measured leaves a gap.
    pub(crate) points: Vec<(f64, Option<f64>)>,
    /// The end of the warm-up, which the test of the trend leaves out.
    pub(crate) warm_up: f64,
    pub(crate) trend: Option<TrendLine>,
}

#[derive(Clone, Debug)]
pub(crate) struct TrendLine {
    pub(crate) from: (f64, f64),
    pub(crate) to: (f64, f64),
    /// In the legend.
    pub(crate) name: String,
}

const PLOT_HEIGHT: f64 = 330.0;
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
        PLOT_HEIGHT + PLACES_HEIGHT + BEFORE_LEGEND + self.legend().height(BODY_WIDTH)
    }

    fn draw_body(&self, canvas: &mut Canvas<'_>, body: Rect) {
        let place = body.with_height(PLOT_HEIGHT);
        let y = self.value_axis(place);
        let plot = XyPlot::new(place, RIGHT, y, |area| self.time_axis(area));
        let warm_up = plot.x.position(self.warm_up) - plot.area.x;
        let warm_up = warm_up.clamp(0.0, plot.area.width);
        canvas.fill(plot.area.with_width(warm_up), WARM_UP);
        let times = format!("time since all peers were connected, {}", self.time_unit);
        plot.draw_axes(canvas, &times, &self.axis.label());
        self.draw_points(canvas, &plot);
        if let Some(TrendLine { from, to, .. }) = &self.trend {
            let [from, to] = [from, to].map(|(time, value)| plot.point(*time, *value));
            canvas.line(from, to, trend_pen());
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
    /// A line through values that follow each other, and a dot for a value between two gaps.
    fn draw_points(&self, canvas: &mut Canvas<'_>, plot: &XyPlot) {
        const FEW: usize = 100;
        let pen = Pen::new(MEASURED, if self.points.len() > FEW { 1.5 } else { 2.5 });
        for run in self.points.split(|(_, value)| value.is_none()) {
            let at = |(time, value): &(f64, Option<f64>)| Some(plot.point(*time, (*value)?));
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
        let all: Vec<ChartValue> = values.chain(ends).map(ChartValue::exact).collect();
        axis_over(&all, &self.axis, plot)
    }

    fn time_axis(&self, plot: Rect) -> Axis {
        let last = self.points.last().map_or(1.0, |(time, _)| *time);
        let scale = Axis::linear((0.0, last), (plot.x, plot.right()), TIME_TICK_SPACING);
        // The axis ends with the last value, and not at the next round number.
        let ticks = scale.ticks.into_iter().filter(|tick| tick.value <= last);
        Axis::with_ticks(ticks.collect(), (0.0, last), (plot.x, plot.right()))
    }

    fn legend(&self) -> Legend {
        let legend = Legend::default()
            .with(LegendKey::Rule(Pen::new(MEASURED, 2.5)), "measured")
            .with(
                LegendKey::Patch(WARM_UP),
                "warm-up, left out of the trend test",
            );
        match &self.trend {
            Some(trend) => legend.with(LegendKey::Rule(trend_pen()), &trend.name),
            None => legend,
        }
    }
}
