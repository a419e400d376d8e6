//! One metric over the whole grid.

use super::{
    Picture,
    draw::{Canvas, Rect, contrasting, grey},
    parts::{
        cell_grid::{Facets, Grid, across_for},
        cell_text::{CellText, TextSizes},
        colour_bar,
        frame::BODY_WIDTH,
        legend::Legend,
        status::Status,
    },
    view::{Caption, Categories, CellValue, ColourScale},
};

#[derive(Clone, Debug)]
pub(crate) struct Heatmap {
    pub(crate) caption: Caption,
    /// From top to bottom.
    pub(crate) rows: Categories,
    pub(crate) columns: Categories,
    pub(crate) facets: Vec<Facet>,
    pub(crate) scale: ColourScale,
}

#[derive(Clone, Debug)]
pub(crate) struct Facet {
    pub(crate) title: String,
    /// By row and column.
    pub(crate) cells: Vec<Vec<CellValue>>,
}

const BEFORE_LEGEND: f64 = 22.0;
const BAR_WIDTH: f64 = 620.0;

impl Picture for Heatmap {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        let statuses = self.statuses();
        self.layout().height() + BEFORE_LEGEND + colour_bar::HEIGHT + statuses.height(BODY_WIDTH)
    }

    fn draw_body(&self, canvas: &mut Canvas<'_>, body: Rect) {
        let layout = self.layout();
        let grids = layout.grids(body);
        let texts: Vec<CellText> = self.values().filter_map(text_of).collect();
        let cell = grids.first().and_then(Grid::first);
        let sizes = cell.map(|cell| TextSizes::for_all(&texts, cell));
        for (index, (facet, grid)) in self.facets.iter().zip(&grids).enumerate() {
            for (place, value) in grid.zip(&facet.cells) {
                self.draw_cell(canvas, place, value, sizes);
            }
            layout.draw_axes(canvas, grid, index, &facet.title);
        }
        let below = body.below(layout.height() + BEFORE_LEGEND);
        colour_bar::draw(canvas, below.with_width(BAR_WIDTH), &self.scale);
        self.statuses()
            .draw(canvas, below.below(colour_bar::HEIGHT));
    }
}

impl Heatmap {
    fn layout(&self) -> Facets<'_> {
        Facets {
            rows: &self.rows,
            columns: &self.columns,
            count: self.facets.len(),
            across: across_for(self.facets.len()),
        }
    }

    fn draw_cell(
        &self,
        canvas: &mut Canvas<'_>,
        place: Rect,
        value: &CellValue,
        sizes: Option<TextSizes>,
    ) {
        canvas.fill(place, grey(0xc0));
        let inside = place.inset(0.5);
        if let Some(status) = Status::of(value) {
            status.draw(canvas, inside);
        }
        let CellValue::Measured(estimate) = value else {
            return;
        };
        let colour = self.scale.colour(estimate.value);
        canvas.fill(inside, colour);
        if let Some(sizes) = sizes {
            sizes.draw(
                canvas,
                place,
                &CellText::of(estimate),
                contrasting(colour),
                true,
            );
        }
    }

    fn values(&self) -> impl Iterator<Item = &CellValue> {
        self.facets
            .iter()
            .flat_map(|facet| facet.cells.iter().flatten())
    }

    fn statuses(&self) -> Legend {
        Legend::default().with_statuses(&Status::among(self.values()))
    }
}

fn text_of(value: &CellValue) -> Option<CellText> {
    match value {
        CellValue::Measured(estimate) => Some(CellText::of(estimate)),
        _ => None,
    }
}
