//! One metric over the whole grid, or under two variants with the difference between them.

use super::{
    draw::{Canvas, FAINT_INK, Rect, contrasting, grey},
    parts::{
        cell_grid::Facets,
        cell_text::{CellText, TextSizes},
        colour_scale,
        legend::{Legend, LegendKey},
    },
    view::{Caption, Categories, CellValue, ColourScale, NoValue, Picture},
};

#[derive(Clone, Debug)]
pub(crate) struct Heatmap {
    pub(crate) caption: Caption,
    pub(crate) rows: Categories,
    pub(crate) columns: Categories,
    /// From left to right, then down.
    pub(crate) facets: Vec<Facet>,
    pub(crate) across: usize,
    pub(crate) scale: ColourScale,
    pub(crate) difference_scale: Option<ColourScale>,
}

#[derive(Clone, Debug)]
pub(crate) struct Facet {
    pub(crate) title: String,
    pub(crate) is_difference: bool,
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
        self.layout().height() + BEFORE_LEGEND + colour_scale::HEIGHT + self.legend().height()
    }

    fn draw_body(&self, canvas: &mut Canvas, body: Rect) {
        let layout = self.layout();
        let texts: Vec<CellText> = self.cells().filter_map(text_of).collect();
        let (width, height) = layout.cell_size();
        let sizes = TextSizes::for_all(&texts, Rect::new(0.0, 0.0, width, height));
        for (index, facet) in self.facets.iter().enumerate() {
            let grid = layout.grid(body, index);
            for (row, cells) in facet.cells.iter().enumerate() {
                for (column, cell) in cells.iter().enumerate() {
                    let place = layout.cell(grid, row, column);
                    self.draw_cell(canvas, place, (facet, cell), sizes);
                }
            }
            layout.draw_axes(canvas, grid, index, &facet.title);
        }
        let below = body.below(layout.height() + BEFORE_LEGEND);
        if let Some(differences) = &self.difference_scale {
            self.scale.draw(canvas, below.column(0, 2, 40.0));
            differences.draw(canvas, below.column(1, 2, 40.0));
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
        let inside = place.right_of(1.0).below(1.0);
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
        let unresolved = self.cells().any(|(_, cell)| is_grey(cell)).then_some((
            UNRESOLVED,
            "grey: not resolved, that is, not significant after correction for the number of comparisons",
        ));
        let reasons = NoValue::among(self.cells().map(|(_, cell)| &cell.value)).into_iter();
        let reasons = reasons.map(|reason| (reason.grey(), reason.meaning()));
        let entry =
            |(level, meaning): (u8, &str)| (LegendKey::Patch(grey(level)), meaning.to_owned());
        Legend(unresolved.into_iter().chain(reasons).map(entry).collect())
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
