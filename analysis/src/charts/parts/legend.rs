//! The legend: explains lines, bands and patches, in as many rows as they need.

use crate::charts::{
    draw::{
        Canvas, Colour, Lettering, Pen, Point, PointMark, Rect, SeriesStyle, draw_mark, fitting,
        grey, width_of,
    },
    parts::frame::LABEL,
    view::{ChartSeries, NoValue},
};

#[derive(Clone, Copy, Debug)]
pub(crate) enum LegendKey {
    Line(SeriesStyle),
    /// A marker alone.
    Mark(PointMark, Colour),
    Patch(Colour),
    NoValue(NoValue),
    /// A line in the middle of its interval.
    Band(Colour),
    Rule(Pen),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Legend(Vec<(LegendKey, String)>);

const KEY_HEIGHT: f64 = 20.0;
const TO_TEXT: f64 = 9.0;
const TO_NEXT: f64 = 26.0;
const ROW: f64 = 30.0;

impl Legend {
    /// A line for each series, drawn by `key`.
    pub(crate) fn of(series: &[ChartSeries], key: fn(SeriesStyle) -> LegendKey) -> Self {
        let entry = |one: &ChartSeries| (key(SeriesStyle::of(one.slot)), one.name.clone());
        Self(series.iter().map(entry).collect())
    }

    pub(crate) fn with(mut self, key: LegendKey, meaning: &str) -> Self {
        self.0.push((key, meaning.to_owned()));
        self
    }

    pub(crate) fn height(&self, width: f64) -> f64 {
        self.places(width).last().map_or(0.0, |place| place.y + ROW)
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) {
        for ((key, meaning), place) in self.0.iter().zip(self.places(area.width)) {
            let middle = area.y + place.y + ROW / 2.0;
            let (x, width) = (area.x + place.x, key.width());
            let text_x = x + width + TO_TEXT;
            key.draw(
                canvas,
                Rect::new(x, middle - KEY_HEIGHT / 2.0, width, KEY_HEIGHT),
            );
            let room = area.right() - text_x;
            let size = fitting([meaning.as_str()], room, LABEL, false);
            canvas.text_across(Point::new(text_x, middle), meaning, &Lettering::new(size));
        }
    }

    /// The start of each entry, from the upper left of the legend.
    fn places(&self, width: f64) -> Vec<Point> {
        let mut next = Point::new(0.0, 0.0);
        let mut places = Vec::new();
        for (key, meaning) in &self.0 {
            let entry = key.width() + TO_TEXT + width_of(meaning, LABEL, false);
            if next.x > 0.0 && next.x + entry > width {
                next = Point::new(0.0, next.y + ROW);
            }
            places.push(next);
            next.x += entry + TO_NEXT;
        }
        places
    }
}

impl LegendKey {
    /// Dashes need some length to be distinguished.
    fn width(self) -> f64 {
        match self {
            LegendKey::Line(_) | LegendKey::Rule(_) | LegendKey::Band(_) => 46.0,
            LegendKey::Patch(_) | LegendKey::NoValue(_) => 32.0,
            LegendKey::Mark(..) => 18.0,
        }
    }

    fn draw(self, canvas: &mut Canvas<'_>, area: Rect) {
        let middle = area.centre();
        let (left, right) = (
            Point::new(area.x, middle.y),
            Point::new(area.right(), middle.y),
        );
        match self {
            LegendKey::Line(style) => {
                canvas.line(left, right, style.pen);
                draw_mark(canvas, middle, style.mark, style.pen.colour);
            }
            LegendKey::Mark(mark, colour) => draw_mark(canvas, middle, mark, colour),
            LegendKey::Patch(colour) => {
                canvas.fill(area, colour);
                canvas.outline(area, Pen::new(grey(0x80), 1.0));
            }
            LegendKey::NoValue(reason) => {
                reason.pattern(canvas, area);
                canvas.outline(area, Pen::new(grey(0x80), 1.0));
            }
            LegendKey::Band(colour) => {
                canvas.shade(area, colour, BAND_OPACITY);
                canvas.line(left, right, Pen::new(colour, 2.0));
            }
            LegendKey::Rule(pen) => canvas.line(left, right, pen),
        }
    }
}

pub(crate) const BAND_OPACITY: f64 = 0.16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_within_the_width_and_apart() {
        let series: Vec<ChartSeries> = (0..9)
            .map(|slot| ChartSeries {
                name: format!("muxer={slot}, deferred"),
                slot,
            })
            .collect();
        let legend = Legend::of(&series, LegendKey::Line);
        let places = legend.places(700.0);
        let entry = legend.0[0].0.width() + TO_TEXT + width_of(&series[0].name, LABEL, false);
        assert!(places.iter().all(|place| place.x + entry <= 700.0));
        assert!(
            places
                .windows(2)
                .all(|two| two[1].y > two[0].y || two[1].x >= two[0].x + entry)
        );
        assert!(legend.height(700.0) > ROW);
        assert_eq!(Legend::default().height(700.0), 0.0);
    }
}
