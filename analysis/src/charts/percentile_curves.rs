//! How long polls take, up to the rarest: percentiles on an axis that stretches towards 100 %.

use super::{
    Picture,
    draw::{Axis, Canvas, INK, Lettering, Pen, Point, Rect, SeriesStyle, Tick, extent, grey},
    parts::{
        frame::{BODY_WIDTH, TICK, draw_heading},
        legend::Legend,
        line_panel::{draw_ground, draw_side_name, draw_values},
    },
    view::{Caption, Quantity, Series},
};

#[derive(Clone, Debug)]
pub(crate) struct PercentileCurves {
    pub(crate) caption: Caption,
    /// Shown on a logarithmic axis.
    pub(crate) quantity: Quantity,
    /// One per variant.
    pub(crate) series: Vec<Series>,
    /// Up to four, one per cell.
    pub(crate) panels: Vec<CurvePanel>,
    pub(crate) threshold: Threshold,
}

#[derive(Clone, Debug)]
pub(crate) struct CurvePanel {
    pub(crate) title: String,
    /// By series: a share of all polls from 0 to 1, and the value at or below which it is.
    pub(crate) curves: Vec<Vec<(f64, f64)>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Threshold {
    pub(crate) value: f64,
    /// "50 µs: slow"
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
        let legend = Legend::of_curves(&self.series).height(BODY_WIDTH);
        down * self.panel_height() + (down - 1.0) * BETWEEN + BEFORE_LEGEND + legend
    }

    fn draw_body(&self, canvas: &mut Canvas<'_>, body: Rect) {
        let legend = Legend::of_curves(&self.series);
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
    fn draw_panel(&self, canvas: &mut Canvas<'_>, panel: &CurvePanel, place: Rect) {
        let plot = place.below(TITLE_HEIGHT);
        let plot = plot.with_height(plot.height - PLACES);
        let y = self.value_axis(plot);
        let plot = plot.right_of(y.label_width(TICK) + 40.0);
        // The last tick's label is half outside.
        let plot = plot.with_width(plot.width - 30.0);
        let x = self.percentile_axis(plot);
        draw_ground(canvas, plot, &y);
        draw_values(canvas, plot, &y);
        draw_side_name(canvas, plot, place.x + 10.0, &self.quantity.label());
        draw_percentiles(canvas, plot, &x);
        draw_heading(canvas, plot, &panel.title);
        self.draw_curves(canvas, panel, &x, &y);
        self.draw_threshold(canvas, plot, &y);
    }

    fn draw_curves(&self, canvas: &mut Canvas<'_>, panel: &CurvePanel, x: &Axis, y: &Axis) {
        for (series, curve) in self.series.iter().zip(&panel.curves) {
            let at = |(share, value)| Point::new(x.position(stretched(share)), y.position(value));
            let points: Vec<Point> = on_axis(curve).map(at).collect();
            canvas.path(&points, SeriesStyle::of(series.slot).pen);
        }
    }

    fn draw_threshold(&self, canvas: &mut Canvas<'_>, plot: Rect, y: &Axis) {
        let at = y.position(self.threshold.value);
        let pen = Pen::new(INK, 1.5).dashed(&[7.0, 5.0]);
        canvas.line(Point::new(plot.x, at), Point::new(plot.right(), at), pen);
        // Curves rise, so below the line they are at the left.
        let below = Point::new(plot.right() - 8.0, at + 20.0);
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

    /// As far as anything is known, and to the 99th in any case.
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

/// Each further nine is as far as the one before.
fn stretched(share: f64) -> f64 {
    -(1.0 - share).log10()
}

fn draw_percentiles(canvas: &mut Canvas<'_>, plot: Rect, x: &Axis) {
    for tick in &x.ticks {
        let at = x.position(tick.value);
        canvas.line(
            Point::new(at, plot.y),
            Point::new(at, plot.bottom()),
            Pen::new(grey(0xe2), 1.0),
        );
    }
    let style = Lettering::new(TICK).centred();
    for tick in x.labels_with_room(TICK) {
        canvas.text(
            Point::new(x.position(tick.value), plot.bottom() + 22.0),
            &tick.label,
            &style,
        );
    }
    canvas.text(
        Point::new(plot.centre().x, plot.bottom() + 46.0),
        "percentile, %",
        &style,
    );
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
