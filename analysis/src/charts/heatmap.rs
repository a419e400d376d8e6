//! One metric over the whole grid, or under two variants with the difference between them.

use super::{
    draw::{Canvas, FAINT_INK, Lettering, Rect, contrasting, fitting, grey, widest},
    parts::{
        cell_text::{CellText, TextSizes},
        colour_scale,
        frame::{BODY_WIDTH, TICK, draw_heading},
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
        self.grids_height() + BEFORE_LEGEND + colour_scale::HEIGHT + self.legend().height()
    }

    fn draw_body(&self, canvas: &mut Canvas, body: Rect) {
        let texts: Vec<CellText> = self.cells().filter_map(text_of).collect();
        let (width, height) = self.cell_size();
        let sizes = TextSizes::for_all(&texts, Rect::new(0.0, 0.0, width, height));
        for (index, facet) in self.facets.iter().enumerate() {
            let grid = self.grid(body, index);
            for (row, cells) in facet.cells.iter().enumerate() {
                for (column, cell) in cells.iter().enumerate() {
                    let place = self.cell(grid, row, column);
                    self.draw_cell(canvas, place, (facet, cell), sizes);
                }
            }
            self.draw_axes(canvas, grid, index, &facet.title);
        }
        let below = body.below(self.grids_height() + BEFORE_LEGEND);
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

const GUTTER: f64 = 16.0;
const BETWEEN: f64 = 14.0;
const TITLE_HEIGHT: f64 = 32.0;
const AXIS_HEIGHT: f64 = 52.0;
const WIDEST_CELL: f64 = 150.0;
const TO_LABEL: f64 = 9.0;

impl Heatmap {
    fn grids_height(&self) -> f64 {
        let down = self.facets.len().div_ceil(self.across).max(1) as f64;
        down * (self.facet_height() + BETWEEN) - BETWEEN
    }

    fn grid(&self, body: Rect, facet: usize) -> Rect {
        let (column, row) = (facet % self.across, facet / self.across);
        let right = self.row_label_width() + column as f64 * (self.facet_width() + GUTTER);
        let down = row as f64 * (self.facet_height() + BETWEEN) + TITLE_HEIGHT;
        let (width, height) = self.cell_size();
        Rect::new(
            (body.x + right).round(),
            body.y + down,
            width * self.columns.labels.len() as f64,
            height * self.rows.labels.len() as f64,
        )
    }

    fn cell(&self, grid: Rect, row: usize, column: usize) -> Rect {
        let (width, height) = self.cell_size();
        let (right, down) = (column as f64 * width, row as f64 * height);
        Rect::new(grid.x + right, grid.y + down, width, height)
    }

    /// The title above a facet and the axes around it; rows are named once for all side by side.
    fn draw_axes(&self, canvas: &mut Canvas, grid: Rect, facet: usize, title: &str) {
        draw_heading(canvas, grid.with_width(self.facet_width()), title);
        let (labels, width) = (&self.columns.labels, self.cell_size().0 - 4.0);
        let size = fitting(labels.iter().map(String::as_str), width, TICK, false);
        for (column, label) in labels.iter().enumerate() {
            let at = (self.cell(grid, 0, column).centre().0, grid.bottom() + 20.0);
            canvas.text(at, label, &Lettering::new(size).centred());
        }
        let below = (grid.centre().0, grid.bottom() + 43.0);
        let name = Lettering::new(TICK).centred();
        canvas.text(below, &self.columns.name, &name);
        if facet.is_multiple_of(self.across) && grid.height > 0.0 {
            let before = grid.x - TO_LABEL;
            let style = Lettering::new(TICK).right();
            for (row, label) in self.rows.labels.iter().enumerate() {
                let middle = self.cell(grid, row, 0).centre().1;
                canvas.text_across((before, middle), label, &style);
            }
            canvas.text((before, grid.bottom() + 20.0), &self.rows.name, &style);
        }
        canvas.outline(grid, grey(0x80));
    }

    fn facet_height(&self) -> f64 {
        TITLE_HEIGHT + self.cell_size().1 * self.rows.labels.len() as f64 + AXIS_HEIGHT
    }

    fn cell_size(&self) -> (f64, f64) {
        let columns = self.columns.labels.len().max(1);
        let width = (self.facet_width() / columns as f64).min(WIDEST_CELL);
        // Whole pixels, so that all edges are equally sharp.
        (width.floor(), (0.52 * width).clamp(44.0, 58.0).round())
    }

    fn facet_width(&self) -> f64 {
        let across = self.across as f64;
        (BODY_WIDTH - self.row_label_width() - (across - 1.0) * GUTTER) / across
    }

    fn row_label_width(&self) -> f64 {
        let labels = self.rows.labels.iter().chain([&self.rows.name]);
        (widest(labels.map(String::as_str), TICK, false) + TO_LABEL).ceil()
    }
}

pub(crate) fn across_for(count: usize) -> usize {
    match count {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::view::Colours;

    fn heatmap((rows, columns): (usize, usize), count: usize, across: usize) -> Heatmap {
        let facet = Facet {
            title: String::new(),
            is_difference: false,
            cells: Vec::new(),
        };
        Heatmap {
            caption: Caption {
                title: String::new(),
                subtitle: String::new(),
                small_print: String::new(),
            },
            rows: Categories::new("axis", 0..rows),
            columns: Categories::new("axis", 0..columns),
            facets: vec![facet; count],
            across,
            scale: ColourScale {
                name: String::new(),
                unit: String::new(),
                max: 1.0,
                colours: Colours::Sequential,
            },
            difference_scale: None,
        }
    }

    #[test]
    fn facets_neither_overlap_nor_leave_the_picture() {
        for size in [(1, 1), (7, 7), (5, 6), (1, 7)] {
            for count in 1..=6 {
                let facets = heatmap(size, count, across_for(count));
                let body = Rect::new(28.0, 90.0, BODY_WIDTH, facets.grids_height());
                let grids: Vec<Rect> = (0..count).map(|facet| facets.grid(body, facet)).collect();
                for (facet, grid) in grids.iter().enumerate() {
                    let with_axes = Rect::new(
                        grid.x,
                        grid.y - TITLE_HEIGHT,
                        grid.width,
                        grid.height + TITLE_HEIGHT + AXIS_HEIGHT,
                    );
                    let labels = facets.row_label_width();
                    assert!(
                        body.right_of(labels).contains(&with_axes),
                        "{count} {grid:?}"
                    );
                    let mut others = grids[..facet].iter();
                    assert!(others.all(|other| other.overlap(&with_axes) == 0.0));
                }
            }
        }
    }

    #[test]
    fn cells_fill_their_grid() {
        let facets = heatmap((7, 7), 1, 1);
        let grid = facets.grid(Rect::new(0.0, 0.0, BODY_WIDTH, facets.grids_height()), 0);
        let last = facets.cell(grid, 6, 6);
        assert!((last.right() - grid.right()).abs() < 1e-9);
        assert!((last.bottom() - grid.bottom()).abs() < 1e-9);
        assert!(facets.cell(grid, 2, 3).overlap(&facets.cell(grid, 2, 4)) < 1e-9);
    }

    #[test]
    fn no_facet_stands_alone_in_a_row_of_three() {
        assert_eq!([1, 2, 3, 4, 5, 6].map(across_for), [1, 2, 3, 2, 3, 3]);
    }
}
