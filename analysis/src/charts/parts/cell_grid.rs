//! The places of facets and of their cells, and the axes around them.

use crate::charts::{
    draw::{Canvas, Lettering, Rect, fitting, grey, widest},
    parts::frame::{BODY_WIDTH, TICK, draw_heading},
    view::Categories,
};

pub(crate) struct Facets<'a> {
    pub(crate) rows: &'a Categories,
    pub(crate) columns: &'a Categories,
    pub(crate) count: usize,
    pub(crate) across: usize,
}

const GUTTER: f64 = 16.0;
const BETWEEN: f64 = 14.0;
const TITLE_HEIGHT: f64 = 32.0;
const AXIS_HEIGHT: f64 = 52.0;
const WIDEST_CELL: f64 = 150.0;
const TO_LABEL: f64 = 9.0;

impl Facets<'_> {
    pub(crate) fn height(&self) -> f64 {
        let down = self.count.div_ceil(self.across).max(1) as f64;
        down * (self.facet_height() + BETWEEN) - BETWEEN
    }

    pub(crate) fn grid(&self, body: Rect, facet: usize) -> Rect {
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

    pub(crate) fn cell(&self, grid: Rect, row: usize, column: usize) -> Rect {
        let (width, height) = self.cell_size();
        let (right, down) = (column as f64 * width, row as f64 * height);
        Rect::new(grid.x + right, grid.y + down, width, height)
    }

    /// The title above a facet and the axes around it; rows are named once for all side by side.
    pub(crate) fn draw_axes(&self, canvas: &mut Canvas, grid: Rect, facet: usize, title: &str) {
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

    pub(crate) fn cell_size(&self) -> (f64, f64) {
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

    fn categories(count: usize) -> Categories {
        Categories::new("axis", 0..count)
    }

    #[test]
    fn facets_neither_overlap_nor_leave_the_picture() {
        for (rows, columns) in [(1, 1), (7, 7), (5, 6), (1, 7)] {
            for count in 1..=6 {
                let (rows, columns) = (categories(rows), categories(columns));
                let facets = Facets {
                    rows: &rows,
                    columns: &columns,
                    count,
                    across: across_for(count),
                };
                let body = Rect::new(28.0, 90.0, BODY_WIDTH, facets.height());
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
        let seven = categories(7);
        let facets = Facets {
            rows: &seven,
            columns: &seven,
            count: 1,
            across: 1,
        };
        let grid = facets.grid(Rect::new(0.0, 0.0, BODY_WIDTH, facets.height()), 0);
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
