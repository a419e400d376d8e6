//! Cells without a value: each with its own pattern and word, so that none is taken for a small value.

use crate::charts::{
    draw::{Canvas, FAINT_INK, Lettering, Pen, Point, Rect, fitting, grey},
    view::CellValue,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Failed,
    Invalid,
    Missing,
    NotApplicable,
}

const ALL: [Status; 4] = [
    Status::Failed,
    Status::Invalid,
    Status::Missing,
    Status::NotApplicable,
];

impl Status {
    pub(crate) fn of(value: &CellValue) -> Option<Self> {
        match value {
            CellValue::Measured(_) => None,
            CellValue::Failed => Some(Status::Failed),
            CellValue::Invalid => Some(Status::Invalid),
            CellValue::Missing => Some(Status::Missing),
            CellValue::NotApplicable => Some(Status::NotApplicable),
        }
    }

    /// Those that are there, each once and in a fixed order.
    pub(crate) fn among<'a>(values: impl IntoIterator<Item = &'a CellValue>) -> Vec<Self> {
        let seen: Vec<Self> = values.into_iter().filter_map(Self::of).collect();
        ALL.into_iter()
            .filter(|status| seen.contains(status))
            .collect()
    }

    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Status::Failed => "failed: no result",
            Status::Invalid => "invalid: conditions not as asked",
            Status::Missing => "missing: not measured",
            Status::NotApplicable => "n/a: no such value",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Status::Failed => "failed",
            Status::Invalid => "invalid",
            Status::Missing => "missing",
            Status::NotApplicable => "n/a",
        }
    }

    fn ground(self) -> u8 {
        match self {
            Status::Failed => 0xd8,
            Status::Invalid | Status::NotApplicable => 0xee,
            Status::Missing => 0xff,
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

    /// The same without the word, for a legend too.
    pub(crate) fn pattern(self, canvas: &mut Canvas<'_>, area: Rect) {
        canvas.fill(area, grey(self.ground()));
        match self {
            Status::Failed => {
                hatch(canvas, area, Slope::Up, grey_pen(0x80));
                hatch(canvas, area, Slope::Down, grey_pen(0x80));
            }
            Status::Invalid => hatch(canvas, area, Slope::Up, grey_pen(0x90)),
            Status::Missing => hatch(canvas, area, Slope::Down, grey_pen(0xd0)),
            Status::NotApplicable => {}
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
    fn only_what_is_there_is_explained() {
        let values = [CellValue::Missing, CellValue::Failed, CellValue::Missing];
        assert_eq!(Status::among(&values), [Status::Failed, Status::Missing]);
    }
}
