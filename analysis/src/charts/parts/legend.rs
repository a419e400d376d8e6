//! The legend: explains lines, bands and patches, in as many rows as they need.

use crate::charts::{
    draw::{
        Canvas, Colour, Lettering, Pen, Point, Rect, SeriesStyle, draw_mark, fitting, grey,
        width_of,
    },
    parts::frame::LABEL,
};

#[derive(Clone, Copy, Debug)]
pub(crate) enum LegendKey {
    Line(SeriesStyle),
    Patch(Colour),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Legend(Vec<(LegendKey, String)>);

const KEY_HEIGHT: f64 = 20.0;
const TO_TEXT: f64 = 9.0;
const TO_NEXT: f64 = 26.0;
const ROW: f64 = 30.0;

impl Legend {
    pub(crate) fn with(mut self, key: LegendKey, meaning: &str) -> Self {
        self.0.push((key, meaning.to_owned()));
        self
    }

    pub(crate) fn height(&self, width: f64) -> f64 {
        self.places(width).last().map_or(0.0, |place| place.y + ROW)
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas, area: Rect) {
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
            LegendKey::Line(_) => 46.0,
            LegendKey::Patch(_) => 32.0,
        }
    }

    fn draw(self, canvas: &mut Canvas, area: Rect) {
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
            LegendKey::Patch(colour) => {
                canvas.fill(area, colour);
                canvas.outline(area, Pen::new(grey(0x80), 1.0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_within_the_width_and_apart() {
        let name = |slot: usize| format!("muxer={slot}, deferred");
        let legend = (0..9).fold(Legend::default(), |legend, slot| {
            legend.with(LegendKey::Line(SeriesStyle::of(slot)), &name(slot))
        });
        let places = legend.places(700.0);
        let entry = legend.0[0].0.width() + TO_TEXT + width_of(&name(0), LABEL, false);
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
