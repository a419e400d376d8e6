//! The words in a cell: a value and, smaller, its interval.

use crate::charts::{
    draw::{Canvas, Colour, Lettering, Point, Rect, estimate, fitting, signed_estimate},
    view::Estimate,
};

#[derive(Clone, Debug)]
pub(crate) struct CellText {
    value: String,
    interval: Option<String>,
}

impl CellText {
    pub(crate) fn of(seen: &Estimate) -> Self {
        let (value, interval) = estimate(seen.value, seen.interval);
        Self { value, interval }
    }

    pub(crate) fn of_difference(seen: &Estimate) -> Self {
        let (value, interval) = signed_estimate(seen.value, seen.interval);
        Self { value, interval }
    }
}

/// One pair of sizes for all cells, so that no value looks more important than another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextSizes {
    value: f64,
    interval: f64,
}

const VALUE: f64 = 20.0;
const INTERVAL: f64 = 16.0;
const PADDING: f64 = 2.5;

impl TextSizes {
    pub(crate) fn for_all(texts: &[CellText], cell: Rect) -> Self {
        let width = cell.width - 2.0 * PADDING;
        let values = texts.iter().map(|text| text.value.as_str());
        let intervals = texts.iter().filter_map(|text| text.interval.as_deref());
        let value = fitting(values, width, VALUE.min(0.42 * cell.height), true);
        let interval = INTERVAL.min(0.34 * cell.height).min(value);
        Self {
            value,
            interval: fitting(intervals, width, interval, false),
        }
    }

    pub(crate) fn draw(
        self,
        canvas: &mut Canvas<'_>,
        cell: Rect,
        text: &CellText,
        colour: Colour,
        bold: bool,
    ) {
        let value = Lettering {
            bold,
            ..Lettering::new(self.value).colour(colour).centred()
        };
        let middle = cell.centre();
        let Some(interval) = &text.interval else {
            canvas.text_across(middle, &text.value, &value);
            return;
        };
        canvas.text_across(
            Point::new(middle.x, cell.y + 0.32 * cell.height),
            &text.value,
            &value,
        );
        let small = Lettering::new(self.interval).colour(colour).centred();
        canvas.text_across(
            Point::new(middle.x, cell.y + 0.74 * cell.height),
            interval,
            &small,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::draw::width_of;

    #[test]
    fn the_widest_text_fits_the_smallest_cell() {
        let estimate = Estimate {
            value: -1234.0,
            interval: Some((-2345.0, 10.0)),
        };
        let text = CellText::of_difference(&estimate);
        let cell = Rect::new(0.0, 0.0, 48.0, 44.0);
        let sizes = TextSizes::for_all(std::slice::from_ref(&text), cell);
        assert!(width_of(&text.value, sizes.value, true) <= cell.width - 4.9);
        let interval = text.interval.expect("it has one");
        assert!(width_of(&interval, sizes.interval, false) <= cell.width - 4.9);
    }
}
