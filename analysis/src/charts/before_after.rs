//! One metric under two variants, and what is between them.

use super::{
    Picture,
    draw::{Canvas, FAINT_INK, Rect, contrasting, grey},
    parts::{
        cell_grid::{Facets, Grid},
        cell_text::{CellText, TextSizes},
        colour_bar,
        frame::BODY_WIDTH,
        legend::{Legend, Sample},
        status::Status,
    },
    view::{Caption, Categories, CellValue, ColourScale, DifferenceScale, Estimate},
};

#[derive(Clone, Debug)]
pub(crate) struct BeforeAfter {
    pub(crate) caption: Caption,
    /// From top to bottom.
    pub(crate) rows: Categories,
    pub(crate) columns: Categories,
    /// What stands above the panels of both variants: "none", "muxer=2, deferred".
    pub(crate) names: [String; 2],
    /// One per payload.
    pub(crate) payloads: Vec<Comparison>,
    pub(crate) scale: ColourScale,
    pub(crate) difference_scale: DifferenceScale,
}

#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// "4 KiB"
    pub(crate) payload: String,
    /// By row and column.
    pub(crate) before: Vec<Vec<CellValue>>,
    pub(crate) after: Vec<Vec<CellValue>>,
    pub(crate) difference: Vec<Vec<Difference>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) value: CellValue,
    /// Whether it is told from none.
    pub(crate) resolved: bool,
}

const ACROSS: usize = 3;
const BEFORE_LEGEND: f64 = 22.0;
const UNRESOLVED: u8 = 0xe4;

impl Picture for BeforeAfter {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        self.layout().height()
            + BEFORE_LEGEND
            + colour_bar::HEIGHT
            + self.legend().height(BODY_WIDTH)
    }

    fn draw_body(&self, canvas: &mut Canvas<'_>, body: Rect) {
        let layout = self.layout();
        let grids = layout.grids(body);
        if let Some(cell) = grids.first().and_then(Grid::first) {
            let sizes = TextSizes::for_all(&self.texts(), cell);
            for (comparison, panels) in self.payloads.iter().zip(grids.chunks(ACROSS)) {
                self.draw_values(canvas, &panels[0], &comparison.before, sizes);
                self.draw_values(canvas, &panels[1], &comparison.after, sizes);
                self.draw_differences(canvas, &panels[2], &comparison.difference, sizes);
            }
        }
        for (index, grid) in grids.iter().enumerate() {
            layout.draw_axes(canvas, grid, index, &self.heading(index));
        }
        self.draw_legends(canvas, body.below(layout.height() + BEFORE_LEGEND));
    }
}

impl BeforeAfter {
    fn layout(&self) -> Facets<'_> {
        Facets {
            rows: &self.rows,
            columns: &self.columns,
            count: ACROSS * self.payloads.len(),
            across: ACROSS,
        }
    }

    fn heading(&self, index: usize) -> String {
        let payload = &self.payloads[index / ACROSS].payload;
        let panel = self
            .names
            .get(index % ACROSS)
            .map_or("difference", String::as_str);
        format!("{payload}: {panel}")
    }

    fn draw_values(
        &self,
        canvas: &mut Canvas<'_>,
        grid: &Grid,
        values: &[Vec<CellValue>],
        sizes: TextSizes,
    ) {
        for (place, value) in grid.zip(values) {
            let Some(estimate) = ground(canvas, place, value) else {
                continue;
            };
            let colour = self.scale.colour(estimate.value);
            canvas.fill(place.inset(0.5), colour);
            sizes.draw(
                canvas,
                place,
                &CellText::of(&estimate),
                contrasting(colour),
                true,
            );
        }
    }

    fn draw_differences(
        &self,
        canvas: &mut Canvas<'_>,
        grid: &Grid,
        differences: &[Vec<Difference>],
        sizes: TextSizes,
    ) {
        for (place, Difference { value, resolved }) in grid.zip(differences) {
            let Some(estimate) = ground(canvas, place, value) else {
                continue;
            };
            let (colour, ink) = if *resolved {
                let colour = self.difference_scale.colour(estimate.value);
                (colour, contrasting(colour))
            } else {
                (grey(UNRESOLVED), FAINT_INK)
            };
            canvas.fill(place.inset(0.5), colour);
            sizes.draw(
                canvas,
                place,
                &CellText::of_difference(&estimate),
                ink,
                *resolved,
            );
        }
    }

    fn draw_legends(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let bars = area.columns(2, 40.0);
        colour_bar::draw(canvas, bars[0], &self.scale);
        colour_bar::draw_differences(canvas, bars[1], &self.difference_scale);
        self.legend().draw(canvas, area.below(colour_bar::HEIGHT));
    }

    fn legend(&self) -> Legend {
        let unresolved = self.differences().any(|difference| {
            !difference.resolved && matches!(difference.value, CellValue::Measured(_))
        });
        let mut legend = Legend::default();
        if unresolved {
            legend = legend.with(
                Sample::Patch(grey(UNRESOLVED)),
                "grey: difference not resolved",
            );
        }
        let values = self
            .values()
            .chain(self.differences().map(|difference| &difference.value));
        legend.with_statuses(&Status::among(values))
    }

    fn texts(&self) -> Vec<CellText> {
        let values = self.values().filter_map(measured).map(CellText::of);
        let differences = self
            .differences()
            .filter_map(|difference| measured(&difference.value));
        values
            .chain(differences.map(CellText::of_difference))
            .collect()
    }

    fn values(&self) -> impl Iterator<Item = &CellValue> {
        self.payloads
            .iter()
            .flat_map(|payload| payload.before.iter().chain(&payload.after).flatten())
    }

    fn differences(&self) -> impl Iterator<Item = &Difference> {
        self.payloads
            .iter()
            .flat_map(|payload| payload.difference.iter().flatten())
    }
}

/// Draws all that is not a value, and tells the value if there is one.
fn ground(canvas: &mut Canvas<'_>, place: Rect, value: &CellValue) -> Option<Estimate> {
    canvas.fill(place, grey(0xc0));
    if let Some(status) = Status::of(value) {
        status.draw(canvas, place.inset(0.5));
    }
    measured(value).copied()
}

fn measured(value: &CellValue) -> Option<&Estimate> {
    match value {
        CellValue::Measured(estimate) => Some(estimate),
        _ => None,
    }
}
