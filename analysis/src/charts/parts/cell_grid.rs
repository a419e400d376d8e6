//! The places of facets and of their cells, and the axes around them.

use crate::charts::{
    draw::{Canvas, Lettering, Pen, Point, Rect, fitting, grey, widest},
    parts::frame::{BODY_WIDTH, TICK, draw_heading},
    view::Categories,
};

/// Facets with the same rows and columns, side by side and below each other.
pub(crate) struct Facets<'a> {
    pub(crate) rows: &'a Categories,
    pub(crate) columns: &'a Categories,
    pub(crate) count: usize,
    /// The number of facets side by side.
    pub(crate) across: usize,
}

/// The cells of one facet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellGrid {
    pub(crate) cells: Rect,
    rows: usize,
    columns: usize,
}

const GUTTER: f64 = 16.0;
const BETWEEN: f64 = 14.0;
const TITLE_HEIGHT: f64 = 32.0;
const AXIS_HEIGHT: f64 = 52.0;
const WIDEST_CELL: f64 = 150.0;

impl Facets<'_> {
    pub(crate) fn height(&self) -> f64 {
        let down = self.down() as f64;
        down * self.facet_height() + (down - 1.0) * BETWEEN
    }

    /// From left to right, then down.
    pub(crate) fn grids(&self, body: Rect) -> Vec<CellGrid> {
        let all = body.with_height(self.height());
        let cell = self.cell_size();
        let (rows, columns) = (self.rows.labels.len(), self.columns.labels.len());
        all.rows(self.down(), BETWEEN)
            .into_iter()
            .flat_map(|row| {
                row.right_of(self.row_label_width())
                    .columns(self.across, GUTTER)
            })
            .take(self.count)
            .map(|slot| CellGrid {
                cells: Rect::new(
                    slot.x.round(),
                    slot.y + TITLE_HEIGHT,
                    cell.0 * columns as f64,
                    cell.1 * rows as f64,
                ),
                rows,
                columns,
            })
            .collect()
    }

    /// The title above a facet and the axes around it; rows are named once for all side by side.
    pub(crate) fn draw_axes(
        &self,
        canvas: &mut Canvas,
        grid: &CellGrid,
        index: usize,
        title: &str,
    ) {
        let cells = grid.cells;
        draw_heading(canvas, cells.with_width(self.facet_width()), title);
        self.draw_columns(canvas, grid);
        if index.is_multiple_of(self.across) && grid.first().is_some() {
            self.draw_rows(canvas, grid);
        }
        canvas.outline(cells, Pen::new(grey(0x80), 1.0));
    }

    fn draw_columns(&self, canvas: &mut Canvas, grid: &CellGrid) {
        let cells = grid.cells;
        let labels = self.columns.labels.iter().map(String::as_str);
        let size = fitting(labels, self.cell_size().0 - 4.0, TICK, false);
        for (column, label) in self.columns.labels.iter().enumerate() {
            let x = grid.cell(0, column).centre().x;
            canvas.text(
                Point::new(x, cells.bottom() + 20.0),
                label,
                &Lettering::new(size).centred(),
            );
        }
        let name = Lettering::new(TICK).centred();
        canvas.text(
            Point::new(cells.centre().x, cells.bottom() + 43.0),
            &self.columns.name,
            &name,
        );
    }

    fn draw_rows(&self, canvas: &mut Canvas, grid: &CellGrid) {
        let cells = grid.cells;
        for (row, label) in self.rows.labels.iter().enumerate() {
            let at = Point::new(cells.x - 9.0, grid.cell(row, 0).centre().y);
            canvas.text_across(at, label, &Lettering::new(TICK).right());
        }
        let below = Point::new(cells.x - 9.0, cells.bottom() + 20.0);
        canvas.text(below, &self.rows.name, &Lettering::new(TICK).right());
    }

    fn down(&self) -> usize {
        self.count.div_ceil(self.across).max(1)
    }

    fn facet_height(&self) -> f64 {
        TITLE_HEIGHT + self.cell_size().1 * self.rows.labels.len() as f64 + AXIS_HEIGHT
    }

    fn cell_size(&self) -> (f64, f64) {
        let width = (self.facet_width() / self.columns.labels.len() as f64).min(WIDEST_CELL);
        // Whole pixels, so that all edges are equally sharp.
        (width.floor(), (0.52 * width).clamp(44.0, 58.0).round())
    }

    fn facet_width(&self) -> f64 {
        let across = self.across as f64;
        (BODY_WIDTH - self.row_label_width() - (across - 1.0) * GUTTER) / across
    }

    fn row_label_width(&self) -> f64 {
        let labels = self.rows.labels.iter().chain([&self.rows.name]);
        (widest(labels.map(String::as_str), TICK, false) + 9.0).ceil()
    }
}

impl CellGrid {
    pub(crate) fn cell(&self, row: usize, column: usize) -> Rect {
        self.cells.rows(self.rows, 0.0)[row].columns(self.columns, 0.0)[column]
    }

    /// All cells are as large as this one, if there are any.
    pub(crate) fn first(&self) -> Option<Rect> {
        (self.rows > 0 && self.columns > 0).then(|| self.cell(0, 0))
    }

    /// Pairs each cell's place with its value, by row and column.
    pub(crate) fn zip<'v, T>(&self, values: &'v [Vec<T>]) -> impl Iterator<Item = (Rect, &'v T)> {
        let grid = *self;
        values.iter().enumerate().flat_map(move |(row, line)| {
            line.iter()
                .enumerate()
                .map(move |(column, value)| (grid.cell(row, column), value))
        })
    }
}

/// The best number of facets side by side.
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
                let grids = facets.grids(body);
                assert_eq!(grids.len(), count);
                for (index, grid) in grids.iter().enumerate() {
                    let (cells, label_width) = (grid.cells, facets.row_label_width());
                    let with_axes = Rect::new(
                        cells.x,
                        cells.y - TITLE_HEIGHT,
                        cells.width,
                        cells.height + TITLE_HEIGHT + AXIS_HEIGHT,
                    );
                    assert!(
                        body.right_of(label_width).contains(&with_axes),
                        "{count} {cells:?}"
                    );
                    assert!(
                        grids[..index]
                            .iter()
                            .all(|other| other.cells.overlap(&with_axes) == 0.0)
                    );
                }
            }
        }
    }

    #[test]
    fn cells_fill_their_grid() {
        let grid = CellGrid {
            cells: Rect::new(0.0, 0.0, 70.0, 70.0),
            rows: 7,
            columns: 7,
        };
        assert_eq!(grid.cell(0, 0), Rect::new(0.0, 0.0, 10.0, 10.0));
        assert!((grid.cell(6, 6).right() - 70.0).abs() < 1e-9);
        assert!(grid.cell(2, 3).overlap(&grid.cell(2, 4)) < 1e-9);
    }

    #[test]
    fn no_facet_stands_alone_in_a_row_of_three() {
        assert_eq!([1, 2, 3, 4, 5, 6].map(across_for), [1, 2, 3, 2, 3, 3]);
    }
}
