//! One metric over the whole grid, or under two variants with the difference between them.

use super::{
    draw::{Canvas, FAINT_INK, Rect, contrasting, grey},
    parts::{
        cell_grid::{CellGrid, Facets},
        cell_text::{CellText, TextSizes},
        colour_scale,
        frame::BODY_WIDTH,
        legend::{Legend, LegendKey},
    },
    view::{Caption, Categories, CellValue, ColourScale, NoValue, Picture},
};

#[derive(Clone, Debug)]
pub(crate) struct Heatmap {
    pub(crate) caption: Caption,
    /// From top to bottom.
    pub(crate) rows: Categories,
    pub(crate) columns: Categories,
    /// From left to right, then down.
    pub(crate) facets: Vec<Facet>,
    /// The number of facets side by side.
    pub(crate) across: usize,
    pub(crate) scale: ColourScale,
    /// For the facets that show differences, if there are any.
    pub(crate) difference_scale: Option<ColourScale>,
}

#[derive(Clone, Debug)]
pub(crate) struct Facet {
    pub(crate) title: String,
    pub(crate) is_difference: bool,
    /// By row and column.
    pub(crate) cells: Vec<Vec<HeatmapCell>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HeatmapCell {
    pub(crate) value: CellValue,
    /// A difference that is not resolved is grey.
    pub(crate) is_resolved: bool,
}

const BEFORE_LEGEND: f64 = 22.0;
const BAR_WIDTH: f64 = 620.0;
const UNRESOLVED: u8 = 0xe4;

impl Picture for Heatmap {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        let legend = self.legend().height(BODY_WIDTH);
        self.layout().height() + BEFORE_LEGEND + colour_scale::HEIGHT + legend
    }

    fn draw_body(&self, canvas: &mut Canvas, body: Rect) {
        let layout = self.layout();
        let grids = layout.grids(body);
        if let Some(cell) = grids.first().and_then(CellGrid::first) {
            let texts: Vec<CellText> = self.cells().filter_map(text_of).collect();
            let sizes = TextSizes::for_all(&texts, cell);
            for (facet, grid) in self.facets.iter().zip(&grids) {
                for (place, cell) in grid.zip(&facet.cells) {
                    self.draw_cell(canvas, place, (facet, cell), sizes);
                }
            }
        }
        for (index, (facet, grid)) in self.facets.iter().zip(&grids).enumerate() {
            layout.draw_axes(canvas, grid, index, &facet.title);
        }
        let below = body.below(layout.height() + BEFORE_LEGEND);
        if let Some(differences) = &self.difference_scale {
            let bars = below.columns(2, 40.0);
            self.scale.draw(canvas, bars[0]);
            differences.draw(canvas, bars[1]);
        } else {
            self.scale.draw(canvas, below.with_width(BAR_WIDTH));
        }
        self.legend()
            .draw(canvas, below.below(colour_scale::HEIGHT));
    }
}

impl Heatmap {
    fn layout(&self) -> Facets<'_> {
        Facets {
            rows: &self.rows,
            columns: &self.columns,
            count: self.facets.len(),
            across: self.across,
        }
    }

    fn draw_cell(
        &self,
        canvas: &mut Canvas,
        place: Rect,
        (facet, cell): (&Facet, &HeatmapCell),
        sizes: TextSizes,
    ) {
        canvas.fill(place, grey(0xc0));
        let inside = place.inset(0.5);
        let value = match &cell.value {
            Ok(value) => value,
            Err(reason) => return reason.draw(canvas, inside),
        };
        let scale = match &self.difference_scale {
            Some(scale) if facet.is_difference => scale,
            _ => &self.scale,
        };
        let (colour, ink) = if cell.is_resolved {
            let colour = scale.colour(value.value);
            (colour, contrasting(colour))
        } else {
            (grey(UNRESOLVED), FAINT_INK)
        };
        canvas.fill(inside, colour);
        let text = CellText::of(value, facet.is_difference);
        sizes.draw(canvas, place, &text, ink, cell.is_resolved);
    }

    fn legend(&self) -> Legend {
        let is_grey = |cell: &HeatmapCell| !cell.is_resolved && cell.value.is_ok();
        let mut legend = Legend::default();
        if self.cells().any(|(_, cell)| is_grey(cell)) {
            let key = LegendKey::Patch(grey(UNRESOLVED));
            legend = legend.with(key, "grey: not resolved, that is, not significant after correction for the number of comparisons");
        }
        let reasons = NoValue::among(self.cells().map(|(_, cell)| &cell.value));
        reasons.into_iter().fold(legend, |legend, reason| {
            legend.with(LegendKey::Patch(reason.colour()), reason.meaning())
        })
    }

    fn cells(&self) -> impl Iterator<Item = (&Facet, &HeatmapCell)> {
        self.facets.iter().flat_map(|facet| {
            let cells = facet.cells.iter().flatten();
            cells.map(move |cell| (facet, cell))
        })
    }
}

fn text_of((facet, cell): (&Facet, &HeatmapCell)) -> Option<CellText> {
    let value = cell.value.as_ref().ok()?;
    Some(CellText::of(value, facet.is_difference))
}
