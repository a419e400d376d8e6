//! The words in a cell: a value and, smaller, its interval.

use crate::{
    charts::{
        draw::{Canvas, Colour, Lettering, Point, Rect, fitting},
        view::ChartValue,
    },
    text::{compact, decimals_for, with_plus},
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
            Some(ends) => {
                let (decimals, text) = with_interval(value, ends);
                (decimals, Some(text))
            }
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

/// The decimals of the value, and the text of its interval.
fn with_interval(value: f64, (low, high): (f64, f64)) -> (usize, String) {
    let half = (high - low) / 2.0;
    let decimals = match (value == 0.0, half > 0.0) {
        (false, true) => decimals_in_cell(value).min(decimals_of_uncertainty(half)),
        (true, true) => decimals_of_uncertainty(half),
        (_, false) => decimals_in_cell(value),
    };
    let (below, above) = (value - low, high - value);
    let text = if (above - below).abs() <= 0.2 * half {
        format!("±{}", margin(half, decimals))
    } else {
        range(low, high, decimals)
    };
    (decimals, text)
}

/// If an interval is far finer than its value, the margin has one digit of its own.
fn margin(half: f64, decimals: usize) -> String {
    let text = compact(half, decimals);
    if half > 0.0 && !text.contains(|letter| matches!(letter, '1'..='9')) {
        compact(half, decimals_for(half, 3).saturating_sub(2))
    } else {
        text
    }
}

/// Two digits of the greater end, or one below 1, unless that makes both ends the same.
fn range(low: f64, high: f64, decimals: usize) -> String {
    let greater = low.abs().max(high.abs());
    let digits_less = if greater < 1.0 { 2 } else { 1 };
    let coarse = decimals.min(decimals_for(greater, 3).saturating_sub(digits_less));
    let decimals = if compact(low, coarse) == compact(high, coarse) {
        decimals
    } else {
        coarse
    };
    // A dash beside a minus would be hard to read.
    let between = if low < 0.0 { ".." } else { "–" };
    let [low, high] = [low, high].map(|end| compact(end, decimals));
    format!("{low}{between}{high}")
}

/// The Particle Data Group's rule: two digits of an uncertainty that starts with 1 to 3.5, else one.
fn decimals_of_uncertainty(half: f64) -> usize {
    let leading = half / 10_f64.powf(half.log10().floor());
    let digits_less = if leading < 3.55 { 1 } else { 2 };
    decimals_for(half, 3).saturating_sub(digits_less)
}

/// Only values below a tenth have thousandths.
fn decimals_in_cell(value: f64) -> usize {
    let decimals = decimals_for(value, 3);
    if value.abs() >= 0.1 {
        decimals.min(2)
    } else {
        decimals
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
        assert_eq!(text(5.7, 5.13, 7.1), both("5.7", "5.1–7.1"));
        assert_eq!(text(0.0, 0.0, 0.4), both("0", "0–0.4"));
        assert_eq!(text(-1.2, -4.0, 0.5), both("−1.2", "−4.0..0.5"));
    }

    #[test]
    fn a_narrow_interval_is_not_shown_as_zero() {
        assert_eq!(text(123.0, 122.98, 123.02), both("123", "±0.02"));
    }

    #[test]
    fn the_widest_text_fits_the_smallest_cell() {
        let value = ChartValue {
            value: -1234.0,
            interval: Some((-2345.0, 10.0)),
        };
        let text = CellText::of(&value, true);
        let cell = Rect::new(0.0, 0.0, 48.0, 44.0);
        let sizes = TextSizes::for_all(std::slice::from_ref(&text), cell);
        assert!(width_of(&text.value, sizes.value, true) <= cell.width - 4.9);
        let interval = text.interval.expect("it has one");
        assert!(width_of(&interval, sizes.interval, false) <= cell.width - 4.9);
    }
}
