//! The words in a cell: a value and, smaller, its interval.

use crate::{
    charts::{
        draw::{Canvas, Colour, Lettering, Point, Rect, fitting},
        view::ChartValue,
    },
    text::{compact, decimals_for, number, with_plus},
};

#[derive(Clone, Debug)]
pub(crate) struct CellText {
    value: String,
    interval: Option<String>,
}

impl CellText {
    /// A value no finer than its interval allows, and the interval: "±1.1" if both sides are alike, else
    /// "11–14". A difference has its sign even if it is positive.
    pub(crate) fn of(shown: &ChartValue, is_difference: bool) -> Self {
        let value = shown.value;
        let (decimals, interval) = match shown.interval {
            Some((low, high)) if high > low => {
                // Two digits of half the width, but no more of the value than a reader needs.
                let finest = if value.abs() < 0.1 { 3 } else { 2 };
                let fine = decimals_for((high - low) / 2.0, 2).min(finest);
                let decimals = match value {
                    0.0 => fine,
                    _ => fine.min(decimals_for(value, 3)),
                };
                (decimals, Some(interval(value, (low, high), decimals)))
            }
            Some(_) => (decimals_for(value, 3).min(2), Some("±0".to_owned())),
            None => (decimals_for(value, 3), None),
        };
        let text = compact(value, decimals);
        Self {
            value: match is_difference {
                true => with_plus(value, text),
                false => text,
            },
            interval,
        }
    }
}

fn interval(value: f64, (low, high): (f64, f64), decimals: usize) -> String {
    let half = (high - low) / 2.0;
    if (high + low - 2.0 * value).abs() <= 0.2 * half {
        // One that is far finer than its value has a digit of its own.
        return format!("±{}", compact(half, decimals.max(decimals_for(half, 1))));
    }
    // Ends are less important than the value.
    let greater = low.abs().max(high.abs());
    let coarse = decimals.min(decimals_for(greater, if greater < 1.0 { 1 } else { 2 }));
    let ends = [coarse, decimals]
        .map(|decimals| [low, high].map(|end| compact(end, decimals)))
        .into_iter()
        .find(|[low, high]| low != high);
    let [low_text, high_text] = ends.unwrap_or_else(|| [low, high].map(number));
    // A dash beside a minus would be hard to read.
    let between = if low < 0.0 { ".." } else { "–" };
    format!("{low_text}{between}{high_text}")
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
        let middle = |part: f64| Point::new(cell.centre().x, cell.y + part * cell.height);
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

    fn text(value: f64, low: f64, high: f64) -> (String, String) {
        let interval = Some((low, high));
        let text = CellText::of(&ChartValue { value, interval }, false);
        (text.value, text.interval.expect("there is an interval"))
    }

    fn both(value: &str, ends: &str) -> (String, String) {
        (value.to_owned(), ends.to_owned())
    }

    #[test]
    fn a_value_is_no_finer_than_its_interval() {
        assert_eq!(text(12.3, 11.2, 13.4), both("12.3", "±1.1"));
        assert_eq!(text(2.7, 2.4, 3.0), both("2.70", "±0.30"));
        assert_eq!(text(45.2, 30.2, 60.2), both("45", "±15"));
        assert_eq!(text(-10.9, -11.6, -10.2), both("−10.9", "±0.7"));
        assert_eq!(text(0.676, 0.629, 0.723), both("0.68", "±0.05"));
        assert_eq!(text(0.003, -1.0, 1.006), both("0.0", "±1.0"));
        assert_eq!(text(0.0, 0.0, 0.0), both("0", "±0"));
    }

    #[test]
    fn a_lopsided_interval_is_shown_by_its_ends() {
        assert_eq!(text(12.3, 11.2, 14.4), both("12.3", "11–14"));
        assert_eq!(text(5.7, 5.13, 7.1), both("5.70", "5.1–7.1"));
        assert_eq!(text(0.0, 0.0, 0.4), both("0", "0–0.4"));
        assert_eq!(text(-1.2, -4.0, 0.5), both("−1.2", "−4.0..0.5"));
    }

    #[test]
    fn a_narrow_interval_is_not_shown_as_zero() {
        assert_eq!(text(123.0, 122.98, 123.02), both("123", "±0.02"));
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
