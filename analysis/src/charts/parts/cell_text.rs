//! The words in a cell: a value and, smaller, its interval. The page has the same words.

use crate::{
    charts::{
        draw::{Canvas, Colour, Lettering, Rect, fitting},
        view::ChartValue,
    },
    text::{brief, rounded, short, with_plus},
};

#[derive(Clone, Debug)]
pub(crate) struct CellText {
    value: String,
    interval: Option<String>,
}

impl CellText {
    /// A difference has its sign even if it is positive.
    pub(crate) fn of(shown: &ChartValue, is_difference: bool) -> Self {
        let value = short(shown.value);
        Self {
            value: match is_difference {
                true => with_plus(shown.value, value),
                false => value,
            },
            interval: shown.interval.map(|ends| interval(shown.value, ends)),
        }
    }
}

/// "±1.1" if both sides are alike, else "11–14". The page knows rounded numbers only.
fn interval(value: f64, (low, high): (f64, f64)) -> String {
    let [value, low, high] = [value, low, high].map(rounded);
    let half = (high - low) / 2.0;
    if (high + low - 2.0 * value).abs() <= 0.2 * half {
        return format!("±{}", brief(half));
    }
    // A dash beside a minus would be hard to read.
    let between = if low < 0.0 { ".." } else { "–" };
    let digits = if brief(low) == brief(high) {
        short
    } else {
        brief
    };
    format!("{}{between}{}", digits(low), digits(high))
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
        canvas: &mut Canvas,
        cell: Rect,
        text: &CellText,
        colour: Colour,
        bold: bool,
    ) {
        let value = Lettering {
            bold,
            ..Lettering::new(self.value).colour(colour).centred()
        };
        let middle = |part: f64| (cell.centre().0, cell.y + part * cell.height);
        let Some(interval) = &text.interval else {
            return canvas.text_across(middle(0.5), &text.value, &value);
        };
        canvas.text_across(middle(0.32), &text.value, &value);
        let small = Lettering::new(self.interval).colour(colour).centred();
        canvas.text_across(middle(0.74), interval, &small);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::draw::width_of;

    #[test]
    fn an_interval_is_short_if_both_sides_are_alike() {
        let text = |value, low, high| interval(value, (low, high));
        assert_eq!(text(12.3, 11.2, 13.4), "±1.1");
        assert_eq!(text(0.0, 0.0, 0.0), "±0");
        assert_eq!(text(123.0, 122.9, 123.1), "±0.1");
        assert_eq!(text(12.3, 11.2, 14.4), "11–14");
        assert_eq!(text(12.3, 12.2, 12.45), "12.2–12.4");
        assert_eq!(text(-1.2, -4.04, 0.5), "−4..0.5");
    }

    #[test]
    fn the_widest_text_fits_the_smallest_cell() {
        let value = ChartValue::new(-1234.0, Some((-2345.0, 10.0)));
        let text = CellText::of(&value, true);
        let cell = Rect::new(0.0, 0.0, 48.0, 44.0);
        let sizes = TextSizes::for_all(std::slice::from_ref(&text), cell);
        assert!(width_of(&text.value, sizes.value, true) <= cell.width - 4.9);
        let interval = text.interval.expect("it has one");
        assert!(width_of(&interval, sizes.interval, false) <= cell.width - 4.9);
    }
}
