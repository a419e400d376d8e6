//! The words in a cell: a value and, smaller, its interval. The page has the same words.

use super::{
    draw::{Canvas, Colour, Lettering, Rect, fitting},
    view::ChartValue,
};
use crate::text::{brief, rounded, short, with_plus};

#[derive(Clone, Debug)]
pub(crate) struct CellText {
    value: String,
    interval: Option<String>,
}

impl CellText {
    /// A difference has its sign even if it is positive.
    pub(crate) fn of(shown: &ChartValue, is_difference: bool) -> Self {
        let value = no_finer(shown.value, shown.interval);
        let text = short(value);
        Self {
            value: match is_difference {
                true => with_plus(value, text),
                false => text,
            },
            interval: shown.interval.map(|ends| interval(shown.value, ends)),
        }
    }
}

/// A value has no more digits than two of half its interval.
fn no_finer(value: f64, interval: Option<(f64, f64)>) -> f64 {
    let half = interval.map(|(low, high)| (rounded(high) - rounded(low)) / 2.0);
    match half {
        Some(half) if half > 0.0 => {
            let step = 10_f64.powf(half.log10().floor() - 1.0);
            (rounded(value) / step).round() * step
        }
        _ => value,
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
    fn a_value_is_no_finer_than_its_interval() {
        let text = |value, low, high| {
            let shown = ChartValue::new(value, Some((low, high)));
            CellText::of(&shown, true).value
        };
        assert_eq!(text(12.34, 11.2, 13.4), "+12.3");
        assert_eq!(text(-0.003_45, -0.17, 0.16), "0");
        assert_eq!(text(45.2, -120.0, 250.0), "+50");
    }

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
