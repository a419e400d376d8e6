//! How one metric goes with each axis of the grid.

use super::{
    Picture,
    draw::{Axis, Canvas, Rect},
    parts::{
        frame::{BODY_WIDTH, TICK, draw_heading},
        legend::Legend,
        line_panel::{LinePanel, PLACES_HEIGHT, axis_over, draw_side_name, draw_values},
    },
    view::{Caption, Categories, Estimate, Quantity, Series},
};

#[derive(Clone, Debug)]
pub(crate) struct Effects {
    pub(crate) caption: Caption,
    pub(crate) quantity: Quantity,
    /// One per variant.
    pub(crate) series: Vec<Series>,
    /// From left to right.
    pub(crate) panels: Vec<EffectPanel>,
}

#[derive(Clone, Debug)]
pub(crate) struct EffectPanel {
    pub(crate) title: String,
    pub(crate) places: Categories,
    /// By series and place.
    pub(crate) lines: Vec<Vec<Option<Estimate>>>,
}

const TITLE_HEIGHT: f64 = 34.0;
const PLOT_HEIGHT: f64 = 420.0;
const GUTTER: f64 = 30.0;
const BEFORE_LEGEND: f64 = 8.0;

impl Picture for Effects {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        let legend = Legend::of_series(&self.series).height(BODY_WIDTH);
        TITLE_HEIGHT + PLOT_HEIGHT + PLACES_HEIGHT + BEFORE_LEGEND + legend
    }

    fn draw_body(&self, canvas: &mut Canvas<'_>, body: Rect) {
        let row = body.below(TITLE_HEIGHT).with_height(PLOT_HEIGHT);
        let y = self.axis(row);
        let plots = row
            .right_of(y.label_width(TICK) + 40.0)
            .columns(self.panels.len(), GUTTER);
        if let Some(first) = plots.first() {
            draw_values(canvas, *first, &y);
            draw_side_name(canvas, *first, body.x + 10.0, &self.quantity.label());
        }
        for (panel, plot) in self.panels.iter().zip(&plots) {
            self.draw_panel(canvas, panel, *plot, &y);
        }
        let legend_top = TITLE_HEIGHT + PLOT_HEIGHT + PLACES_HEIGHT + BEFORE_LEGEND;
        Legend::of_series(&self.series).draw(canvas, body.below(legend_top));
    }
}

impl Effects {
    fn draw_panel(&self, canvas: &mut Canvas<'_>, panel: &EffectPanel, plot: Rect, y: &Axis) {
        let lines = LinePanel {
            plot,
            places: &panel.places,
            y,
        };
        lines.draw_ground(canvas);
        lines.draw_places(canvas);
        lines.draw_series(canvas, &self.series, &panel.lines);
        draw_heading(canvas, plot, &panel.title);
    }

    fn axis(&self, plot: Rect) -> Axis {
        let all = self
            .panels
            .iter()
            .flat_map(|panel| panel.lines.iter().flatten().flatten());
        axis_over(all, &self.quantity, plot)
    }
}
