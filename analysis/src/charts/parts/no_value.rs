//! The patterns and words of cells without a value.

use crate::charts::{
    draw::{Canvas, FAINT_INK, Lettering, Pen, Point, Rect, fitting, grey},
    view::{CellValue, NoValue},
};

const ALL: [NoValue; 5] = [
    NoValue::Failed,
    NoValue::Invalid,
    NoValue::Missing,
    NoValue::NotApplicable,
    NoValue::NeverFires,
];

impl NoValue {
    /// Each reason that occurs, once and in a fixed order.
    pub(crate) fn among<'a>(values: impl IntoIterator<Item = &'a CellValue>) -> Vec<Self> {
        let seen: Vec<Self> = values.into_iter().filter_map(|it| it.err()).collect();
        ALL.into_iter()
            .filter(|reason| seen.contains(reason))
            .collect()
    }

    /// Its word, and what that means.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            NoValue::Failed => "failed: the run ended without a result",
            NoValue::Invalid => "invalid: the network was not as configured",
            NoValue::Missing => "missing: not measured",
            NoValue::NotApplicable => "n/a: no such value in this cell",
            NoValue::NeverFires => "idle: this budget ended no poll, or would have ended none",
        }
    }

    fn word(self) -> &'static str {
        let meaning = self.meaning();
        meaning.split_once(':').map_or(meaning, |(word, _)| word)
    }

    fn ground(self) -> u8 {
        match self {
            NoValue::Failed => 0xd8,
            NoValue::Invalid | NoValue::NotApplicable | NoValue::NeverFires => 0xee,
            NoValue::Missing => 0xff,
        }
    }

    /// Fills the place of a cell.
    pub(crate) fn draw(self, canvas: &mut Canvas<'_>, cell: Rect) {
        self.pattern(canvas, cell);
        let size = fitting([self.word()], cell.width - 8.0, 16.0, false).min(0.45 * cell.height);
        let plate = Rect::new(cell.x, cell.centre().y - 0.7 * size, cell.width, 1.4 * size);
        canvas.fill(plate, grey(self.ground()));
        let style = Lettering::new(size).colour(FAINT_INK).centred();
        canvas.text_across(cell.centre(), self.word(), &style);
    }

    /// The same without the word, also for a legend.
    pub(crate) fn pattern(self, canvas: &mut Canvas<'_>, area: Rect) {
        canvas.fill(area, grey(self.ground()));
        match self {
            NoValue::Failed => {
                hatch(canvas, area, Slope::Up, grey_pen(0x80));
                hatch(canvas, area, Slope::Down, grey_pen(0x80));
            }
            NoValue::Invalid => hatch(canvas, area, Slope::Up, grey_pen(0x90)),
            NoValue::Missing => hatch(canvas, area, Slope::Down, grey_pen(0xd0)),
            NoValue::NotApplicable | NoValue::NeverFires => {}
        }
    }
}

fn grey_pen(level: u8) -> Pen {
    Pen::new(grey(level), 1.0)
}

#[derive(Clone, Copy)]
enum Slope {
    Up,
    Down,
}

const HATCH_SPACING: f64 = 10.0;

/// Diagonals that end at the edges of the area.
fn hatch(canvas: &mut Canvas<'_>, area: Rect, slope: Slope, pen: Pen) {
    let mut offset = HATCH_SPACING;
    while offset < area.width + area.height {
        let left = (offset - area.height).max(0.0);
        let right = offset.min(area.width);
        let at = |across: f64| {
            let x = match slope {
                Slope::Up => area.x + across,
                Slope::Down => area.right() - across,
            };
            Point::new(x, area.y + offset - across)
        };
        canvas.line(at(left), at(right), pen);
        offset += HATCH_SPACING;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_explains_only_the_reasons_that_occur() {
        let values = [NoValue::Missing, NoValue::Failed, NoValue::Missing].map(Err);
        assert_eq!(NoValue::among(&values), [NoValue::Failed, NoValue::Missing]);
    }
}
