//! A metric over a grid, in facets side by side. Usually the facets show two variants and the difference between them.

use std::collections::BTreeSet;

use plotters::style::text_anchor::HPos;

use super::canvas::{Canvas, Rect};
use super::colour::{FAINT_INK, contrasting, grey};
use super::colour_scale::ColourScale;
use super::lettering::Lettering;
use super::picture::{Body, TICK, draw_heading, draw_legend};
use super::values::{Categories, ChartValue, cell_text};

pub(crate) struct Heatmap {
    pub(crate) rows: Categories,
    pub(crate) columns: Categories,
    /// The facets of the first row, then those of the second, and so on.
    pub(crate) facets: Vec<Facet>,
    /// The number of facets in a row.
    pub(crate) across: usize,
    /// One or two scales. A facet names its scale by the index.
    pub(crate) scales: Vec<ColourScale>,
}

#[derive(Clone)]
pub(crate) struct Facet {
    pub(crate) title: String,
    pub(crate) scale: usize,
    pub(crate) cells: Vec<Vec<HeatmapCell>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HeatmapCell {
    pub(crate) value: Result<ChartValue, NoValue>,
    /// A difference that is not resolved is grey.
    pub(crate) is_resolved: bool,
}

impl HeatmapCell {
    pub(crate) fn level(value: Result<ChartValue, NoValue>) -> HeatmapCell {
        HeatmapCell {
            value,
            is_resolved: true,
        }
    }
}

/// The reason why a cell has no value. Each reason has a word and a grey that no value has, so that none looks like a small
/// value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NoValue {
    Failed,
    /// The cell was measured, but not under the conditions that were asked for.
    Invalid,
    Missing,
    NotApplicable,
}

/// A grey that no value has, and its meaning.
struct Grey {
    level: u8,
    meaning: &'static str,
}

impl NoValue {
    fn grey(self) -> Grey {
        let (level, meaning) = match self {
            NoValue::Failed => (0xc8, "failed: the run ended without a result"),
            NoValue::Invalid => (0xd8, "invalid: the network was not as configured"),
            NoValue::Missing => (0xff, "missing: not measured"),
            NoValue::NotApplicable => (0xee, "n/a: no such value in this cell"),
        };
        Grey { level, meaning }
    }
}

const UNRESOLVED: Grey = Grey {
    level: 0xe4,
    meaning: "grey: not resolved, that is, not significant after correction for the number of comparisons",
};
/// The space between facets.
const GAP_WIDTH: f64 = 16.0;
const GAP_HEIGHT: f64 = 14.0;
const TITLE_HEIGHT: f64 = 32.0;
const AXIS_HEIGHT: f64 = 52.0;
const WIDEST_CELL: f64 = 150.0;
const TO_LABEL: f64 = 9.0;

impl Body for Heatmap {
    fn draw(&self, canvas: &mut Canvas, area: Rect) -> f64 {
        let styles = self.cell_lettering(area);
        let mut bottom = area.y;
        for (index, facet) in self.facets.iter().enumerate() {
            let grid = self.grid(area, index);
            for (row, cells) in facet.cells.iter().enumerate() {
                for (column, cell) in cells.iter().enumerate() {
                    let place = self.cell(grid, row, column);
                    let scale = &self.scales[facet.scale];
                    draw_cell(canvas, place, cell, scale, &styles);
                }
            }
            let whole = self.facet_area(area, index);
            draw_heading(canvas, whole.below(TITLE_HEIGHT), &facet.title);
            self.draw_axes(canvas, grid, index.is_multiple_of(self.across));
            bottom = whole.bottom();
        }
        let below = area.below(bottom + 22.0 - area.y);
        for (index, scale) in self.scales.iter().enumerate() {
            // The scales differ in height.
            bottom = bottom.max(scale.draw(canvas, below.column(index, 2, 40.0)));
        }
        self.draw_greys(canvas, area.below(bottom - area.y))
    }
}

impl Heatmap {
    fn cells(&self) -> impl Iterator<Item = (&Facet, &HeatmapCell)> {
        self.facets.iter().flat_map(|facet| {
            let cells = facet.cells.iter().flatten();
            cells.map(move |cell| (facet, cell))
        })
    }

    /// The lettering of values and that of intervals. All cells have the same size, so that no value looks more important.
    fn cell_lettering(&self, area: Rect) -> [Lettering; 2] {
        let texts = self.cells().filter_map(|(facet, cell)| {
            let is_difference = self.scales[facet.scale].shows_differences();
            Some(cell_text(cell.value.as_ref().ok()?, is_difference))
        });
        let (values, intervals): (Vec<_>, Vec<_>) = texts.map(<(String, String)>::from).unzip();
        let (width, height) = self.cell_size(area);
        let style = |size: f64| Lettering::new(size).aligned(HPos::Center);
        let largest = style((0.42 * height).min(20.0)).bold(true);
        let value = largest.fitting(values, width - 5.0);
        let interval = style((0.34 * height).min(16.0).min(value.size));
        [value, interval.fitting(intervals, width - 5.0)]
    }

    fn draw_greys(&self, canvas: &mut Canvas, area: Rect) -> f64 {
        let is_grey = |(_, cell): (_, &HeatmapCell)| !cell.is_resolved && cell.value.is_ok();
        let without_value = self.cells().filter_map(|(_, cell)| cell.value.err());
        let reasons: BTreeSet<NoValue> = without_value.collect();
        let mut greys: Vec<Grey> = reasons.into_iter().map(NoValue::grey).collect();
        if self.cells().any(is_grey) {
            greys.insert(0, UNRESOLVED);
        }
        let meanings: Vec<&str> = greys.iter().map(|shade| shade.meaning).collect();
        draw_legend(canvas, area, &meanings, |canvas, index, key| {
            canvas.fill(key, grey(greys[index].level));
            canvas.outline(key, grey(0x80));
        })
    }

    /// Draws the labels below a grid, and on its left if it is the leftmost of its row.
    fn draw_axes(&self, canvas: &mut Canvas, grid: Rect, is_leftmost: bool) {
        let style = Lettering::new(TICK).aligned(HPos::Center);
        let width = self.cell(grid, 0, 0).width - 4.0;
        let fitting = style.fitting(&self.columns.labels, width);
        for (column, label) in self.columns.labels.iter().enumerate() {
            let place = (self.cell(grid, 0, column).centre().0, grid.bottom() + 14.0);
            canvas.text(place, label, &fitting);
        }
        let below = (grid.centre().0, grid.bottom() + 37.0);
        canvas.text(below, &self.columns.name, &style);
        if is_leftmost && grid.height > 0.0 {
            let before = grid.x - TO_LABEL;
            let style = style.aligned(HPos::Right);
            for (row, label) in self.rows.labels.iter().enumerate() {
                canvas.text((before, self.cell(grid, row, 0).centre().1), label, &style);
            }
            canvas.text((before, grid.bottom() + 14.0), &self.rows.name, &style);
        }
        canvas.outline(grid, grey(0x80));
    }

    /// The area of a facet with its title and its axis, but without the labels of rows.
    fn facet_area(&self, area: Rect, index: usize) -> Rect {
        let (_, cell_height) = self.cell_size(area);
        let height = TITLE_HEIGHT + cell_height * self.rows.labels.len() as f64 + AXIS_HEIGHT;
        let down = (index / self.across) as f64 * (height + GAP_HEIGHT);
        let row = area.right_of(self.row_label_width()).below(down);
        let column = row.column(index % self.across, self.across, GAP_WIDTH);
        Rect { height, ..column }
    }

    fn grid(&self, area: Rect, index: usize) -> Rect {
        let facet = self.facet_area(area, index);
        let (width, height) = self.cell_size(area);
        Rect::new(
            facet.x.round(),
            facet.y + TITLE_HEIGHT,
            width * self.columns.labels.len() as f64,
            height * self.rows.labels.len() as f64,
        )
    }

    fn cell(&self, grid: Rect, row: usize, column: usize) -> Rect {
        let rows = self.rows.labels.len().max(1);
        let height = grid.height / rows as f64;
        let columns = self.columns.labels.len().max(1);
        let below = grid.below(row as f64 * height);
        Rect {
            height,
            ..below.column(column, columns, 0.0)
        }
    }

    /// The width and height of a cell, in whole pixels so that all edges are equally sharp.
    fn cell_size(&self, area: Rect) -> (f64, f64) {
        let across = self.across as f64;
        let facet = (area.width - self.row_label_width() - (across - 1.0) * GAP_WIDTH) / across;
        let share = facet / self.columns.labels.len().max(1) as f64;
        let width = share.min(WIDEST_CELL);
        (width.floor(), (0.52 * width).clamp(44.0, 58.0).round())
    }

    fn row_label_width(&self) -> f64 {
        let labels = self.rows.labels.iter().chain([&self.rows.name]);
        (Lettering::new(TICK).widest(labels) + TO_LABEL).ceil()
    }
}

fn draw_cell(
    canvas: &mut Canvas,
    place: Rect,
    cell: &HeatmapCell,
    scale: &ColourScale,
    styles: &[Lettering; 2],
) {
    canvas.fill(place, grey(0xc0));
    let inside = place.right_of(1.0).below(1.0);
    let (colour, ink) = match cell.value {
        Err(reason) => (grey(reason.grey().level), FAINT_INK),
        Ok(_) if !cell.is_resolved => (grey(UNRESOLVED.level), FAINT_INK),
        Ok(value) => {
            let colour = scale.colour(value.value);
            (colour, contrasting(colour))
        }
    };
    canvas.fill(inside, colour);
    let [style, small] = styles.map(|style| style.colour(ink));
    let middle = |part: f64| (place.centre().0, place.y + part * place.height);
    match cell.value {
        Err(reason) => {
            let word = reason.grey().meaning.split(':').next().unwrap_or_default();
            let fitting = Lettering::new(16.0).fitting([word], inside.width - 8.0);
            let style = fitting.colour(ink).aligned(HPos::Center);
            canvas.text(middle(0.5), word, &style);
        }
        Ok(value) => {
            let [value, interval] = cell_text(&value, scale.shows_differences());
            let part = if interval.is_empty() { 0.5 } else { 0.32 };
            canvas.text(middle(part), &value, &style.bold(cell.is_resolved));
            if !interval.is_empty() {
                canvas.text(middle(0.74), &interval, &small);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::Colours;
    use crate::charts::picture::BODY_WIDTH;

    const AREA: Rect = Rect {
        x: 28.0,
        y: 90.0,
        width: BODY_WIDTH,
        height: 0.0,
    };

    fn heatmap((rows, columns): (usize, usize), count: usize, across: usize) -> Heatmap {
        let facet = Facet {
            title: String::new(),
            scale: 0,
            cells: Vec::new(),
        };
        let values = [1.0].into_iter();
        Heatmap {
            rows: Categories::new("axis", 0..rows),
            columns: Categories::new("axis", 0..columns),
            facets: vec![facet; count],
            across,
            scales: vec![ColourScale::new("", "", Colours::Sequential, values)],
        }
    }

    #[test]
    fn facets_neither_overlap_nor_leave_the_picture() {
        for size in [(1, 1), (7, 7), (5, 6), (1, 7)] {
            for count in 1..=6 {
                let heatmap = heatmap(size, count, count.min(3));
                let facets: Vec<Rect> = (0..count)
                    .map(|index| heatmap.facet_area(AREA, index))
                    .collect();
                for (index, facet) in facets.iter().enumerate() {
                    let labels = heatmap.row_label_width();
                    let sides = Rect {
                        height: 5000.0,
                        ..AREA.right_of(labels)
                    };
                    assert!(sides.contains(facet), "{count} {facet:?}");
                    let grid = heatmap.grid(AREA, index);
                    assert!(facet.right() >= grid.right() - 0.5 && facet.bottom() > grid.bottom());
                    let mut others = facets[..index].iter();
                    assert!(others.all(|other| other.overlap(facet) == 0.0));
                }
            }
        }
    }

    #[test]
    fn cells_fill_their_grid() {
        let heatmap = heatmap((7, 7), 1, 1);
        let grid = heatmap.grid(AREA, 0);
        let last = heatmap.cell(grid, 6, 6);
        assert!((last.right() - grid.right()).abs() < 1e-9);
        assert!((last.bottom() - grid.bottom()).abs() < 1e-9);
        let neighbours = [2, 3].map(|row| heatmap.cell(grid, row, 4));
        assert!(neighbours[0].overlap(&neighbours[1]) < 1e-9);
    }
}
