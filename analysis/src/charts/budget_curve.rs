//! What tighter budgets do to several metrics.

use super::{
    Picture,
    draw::{Axis, Canvas, Colour, INK, Mark, Rect},
    parts::{
        frame::{BODY_WIDTH, TICK},
        legend::{Legend, Sample},
        line_panel::{LinePanel, PLACES_HEIGHT, axis_over, draw_side_name, draw_values},
    },
    view::{Caption, Categories, Estimate, Quantity, Series},
};

#[derive(Clone, Debug)]
pub(crate) struct BudgetCurve {
    pub(crate) caption: Caption,
    /// From unbounded to tightest; the first is where the baseline's twin is.
    pub(crate) budgets: Categories,
    /// One per site and kind of wake.
    pub(crate) series: Vec<Series>,
    /// What the legend calls the baseline and its twin: "none", "none again (A/A)".
    pub(crate) baseline_name: String,
    pub(crate) twin_name: String,
    /// From top to bottom.
    pub(crate) panels: Vec<BudgetPanel>,
}

#[derive(Clone, Debug)]
pub(crate) struct BudgetPanel {
    pub(crate) quantity: Quantity,
    pub(crate) baseline: Option<Estimate>,
    pub(crate) twin: Option<Estimate>,
    /// By series and budget.
    pub(crate) lines: Vec<Vec<Option<Estimate>>>,
}

const PANEL_HEIGHT: f64 = 205.0;
const BETWEEN: f64 = 28.0;
const BEFORE_LEGEND: f64 = 8.0;
const BASELINE: Colour = Colour(0x50, 0x50, 0x50);

impl Picture for BudgetCurve {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        let count = self.panels.len() as f64;
        count * PANEL_HEIGHT
            + (count - 1.0).max(0.0) * BETWEEN
            + PLACES_HEIGHT
            + BEFORE_LEGEND
            + self.legend().height(BODY_WIDTH)
    }

    fn draw_body(&self, canvas: &mut Canvas<'_>, body: Rect) {
        let legend_height = self.legend().height(BODY_WIDTH);
        let stack = body.with_height(body.height - legend_height - BEFORE_LEGEND - PLACES_HEIGHT);
        let rows = stack.rows(self.panels.len(), BETWEEN);
        let axes: Vec<Axis> = self
            .panels
            .iter()
            .zip(&rows)
            .map(|(panel, row)| panel.axis(*row))
            .collect();
        // All plots begin where the one with the widest numbers does.
        let widest = axes
            .iter()
            .map(|axis| axis.label_width(TICK))
            .fold(0.0, f64::max);
        for (index, (panel, row)) in self.panels.iter().zip(&rows).enumerate() {
            let plot = row.right_of(widest + 40.0);
            let last = index + 1 == self.panels.len();
            self.draw_panel(canvas, panel, plot, &axes[index], last);
            draw_side_name(canvas, plot, body.x + 10.0, &panel.quantity.label());
        }
        self.legend()
            .draw(canvas, body.below(body.height - legend_height));
    }
}

impl BudgetCurve {
    fn draw_panel(
        &self,
        canvas: &mut Canvas<'_>,
        panel: &BudgetPanel,
        plot: Rect,
        y: &Axis,
        last: bool,
    ) {
        let lines = LinePanel {
            plot,
            places: &self.budgets,
            y,
        };
        lines.draw_ground(canvas);
        draw_values(canvas, plot, y);
        if let Some(baseline) = &panel.baseline {
            lines.draw_band(canvas, baseline, BASELINE);
        }
        lines.draw_series(canvas, &self.series, &panel.lines);
        if let Some(twin) = &panel.twin {
            lines.draw_mark(canvas, lines.x(0), twin, (Mark::Ring, INK));
        }
        if last {
            lines.draw_places(canvas);
        }
    }

    fn legend(&self) -> Legend {
        let legend = Legend::of_series(&self.series);
        let legend = match self.panels.iter().any(|panel| panel.baseline.is_some()) {
            true => legend.with(Sample::Band(BASELINE), &self.baseline_name),
            false => legend,
        };
        match self.panels.iter().any(|panel| panel.twin.is_some()) {
            true => legend.with(Sample::Mark(Mark::Ring, INK), &self.twin_name),
            false => legend,
        }
    }
}

impl BudgetPanel {
    fn axis(&self, plot: Rect) -> Axis {
        let lines = self.lines.iter().flatten().flatten();
        axis_over(
            lines.chain(&self.baseline).chain(&self.twin),
            &self.quantity,
            plot,
        )
    }
}
