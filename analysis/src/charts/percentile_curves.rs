//! Percentiles of durations, on an axis that stretches towards 100 % to show the rarest ones.

use super::{
    draw::{Axis, Canvas, INK, Lettering, Pen, Point, Rect, SeriesStyle, Tick, extent},
    parts::{
        frame::{BODY_WIDTH, TICK, draw_heading},
        legend::{Legend, LegendKey},
        xy_plot::XyPlot,
    },
    view::{Caption, ChartSeries, Picture, ValueAxis},
};

#[derive(Clone, Debug)]
pub(crate) struct PercentileCurves {
    pub(crate) caption: Caption,
    /// Shown on a logarithmic axis.
    pub(crate) axis: ValueAxis,
    /// One per variant.
    pub(crate) series: Vec<ChartSeries>,
    /// Up to four, one per cell.
    pub(crate) panels: Vec<CurvePanel>,
    pub(crate) threshold: SlowLine,
}

#[derive(Clone, Debug)]
pub(crate) struct CurvePanel {
    pub(crate) title: String,
    /// By series: shares of all polls from 0 to 1, and for each the greatest value of that share.
    pub(crate) curves: Vec<Vec<(f64, f64)>>,
}

#[derive(Clone, Debug)]
pub(crate) struct SlowLine {
    pub(crate) value: f64,
    /// "50 µs"
    pub(crate) label: String,
}

const NAMED: [(f64, &str); 8] = [
    (0.0, "0"),
    (0.5, "50"),
    (0.9, "90"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.9999, "99.99"),
    (0.999_99, "99.999"),
    (0.999_999, "99.9999"),
];

const TITLE_HEIGHT: f64 = 34.0;
const PLACES: f64 = 54.0;
const BETWEEN: f64 = 10.0;
const GUTTER: f64 = 34.0;
const BEFORE_LEGEND: f64 = 8.0;

impl Picture for PercentileCurves {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        let down = self.down() as f64;
        let legend = self.legend().height(BODY_WIDTH);
        down * self.panel_height() + (down - 1.0) * BETWEEN + BEFORE_LEGEND + legend
    }

    fn draw_body(&self, canvas: &mut Canvas<'_>, body: Rect) {
        let legend = self.legend();
        let legend_height = legend.height(BODY_WIDTH);
        let panels = body.with_height(body.height - legend_height - BEFORE_LEGEND);
        let places: Vec<Rect> = panels
            .rows(self.down(), BETWEEN)
            .into_iter()
            .flat_map(|row| row.columns(self.across(), GUTTER))
            .collect();
        for (panel, place) in self.panels.iter().zip(places) {
            self.draw_panel(canvas, panel, place);
        }
        legend.draw(canvas, body.below(body.height - legend_height));
    }
}

impl PercentileCurves {
    fn legend(&self) -> Legend {
        Legend::of(&self.series, |style| LegendKey::Rule(style.pen))
    }

    fn draw_panel(&self, canvas: &mut Canvas<'_>, panel: &CurvePanel, place: Rect) {
        let place = place.below(TITLE_HEIGHT);
        let place = place.with_height(place.height - PLACES);
        let y = self.value_axis(place);
        let plot = XyPlot::new(place, 30.0, y, |area| self.percentile_axis(area));
        plot.draw_columns(canvas);
        plot.draw_axes(canvas, "percentile, %", &self.axis.label());
        draw_heading(canvas, plot.area, &panel.title);
        for (series, curve) in self.series.iter().zip(&panel.curves) {
            let at = |(share, value)| plot.point(stretched(share), value);
            let points: Vec<Point> = on_axis(curve).map(at).collect();
            canvas.path(&points, SeriesStyle::of(series.slot).pen);
        }
        let at = plot.y.position(self.threshold.value);
        let ends = [plot.area.x, plot.area.right()].map(|x| Point::new(x, at));
        canvas.line(ends[0], ends[1], Pen::new(INK, 1.5).dashed(&[7.0, 5.0]));
        // Curves rise, so below the line they are at the left.
        let below = Point::new(plot.area.right() - 8.0, at + 20.0);
        canvas.text(below, &self.threshold.label, &Lettering::new(TICK).right());
    }

    /// The same in every panel, so that they can be compared.
    fn value_axis(&self, plot: Rect) -> Axis {
        let values = self
            .points()
            .map(|(_, value)| value)
            .filter(|value| *value > 0.0);
        let values = values
            .chain([self.threshold.value])
            .map(|value| (value, value));
        let range = extent(values).unwrap_or((1.0, 10.0));
        Axis::logarithmic(range, (plot.bottom(), plot.y), 24.0)
    }

    /// To the last known percentile, and at least to the 99th.
    fn percentile_axis(&self, plot: Rect) -> Axis {
        let known = self.points().map(|(share, _)| stretched(share));
        let furthest = known.fold(stretched(0.99), f64::max);
        let ticks = NAMED
            .iter()
            .map(|(share, label)| Tick {
                value: stretched(*share),
                label: (*label).to_owned(),
            })
            .filter(|tick| tick.value <= furthest + 1e-6);
        Axis::with_ticks(ticks.collect(), (0.0, furthest), (plot.x, plot.right()))
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.panels
            .iter()
            .flat_map(|panel| panel.curves.iter().flat_map(|curve| on_axis(curve)))
    }

    fn across(&self) -> usize {
        if self.panels.len() == 1 { 1 } else { 2 }
    }

    fn down(&self) -> usize {
        self.panels.len().div_ceil(self.across()).max(1)
    }

    fn panel_height(&self) -> f64 {
        if self.down() == 1 { 520.0 } else { 400.0 }
    }
}

/// All but the greatest value, which is at 100 % and so infinitely far.
fn on_axis(curve: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    curve.iter().copied().filter(|(share, _)| *share < 1.0)
}

/// Each further nine takes the same distance.
fn stretched(share: f64) -> f64 {
    -(1.0 - share).log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nine_is_as_far_as_the_one_before() {
        assert_eq!(stretched(0.0), 0.0);
        let steps = [0.9, 0.99, 0.999].map(stretched);
        assert!((steps[1] - 2.0 * steps[0]).abs() < 1e-9);
        assert!((steps[2] - 3.0 * steps[0]).abs() < 1e-9);
    }
}
