//! The legend: explains lines and patches, in as many rows as they need.

use crate::charts::{
    draw::{Canvas, Colour, Lettering, PointMark, Rect, draw_mark, fitting, grey, width_of},
    parts::frame::{BODY_WIDTH, LABEL},
};

#[derive(Clone, Copy, Debug)]
pub(crate) enum LegendKey {
    Line(Colour, PointMark),
    Patch(Colour),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Legend(pub(crate) Vec<(LegendKey, String)>);

const KEY: (f64, f64) = (38.0, 20.0);
const TO_TEXT: f64 = 9.0;
const TO_NEXT: f64 = 26.0;
const ROW: f64 = 30.0;

impl Legend {
    pub(crate) fn height(&self) -> f64 {
        self.places().last().map_or(0.0, |(_, y)| y + ROW)
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas, area: Rect) {
        for ((key, meaning), (x, y)) in self.0.iter().zip(self.places()) {
            let middle = area.y + y + ROW / 2.0;
            let key_area = Rect::new(area.x + x, middle - KEY.1 / 2.0, KEY.0, KEY.1);
            match *key {
                LegendKey::Line(colour, mark) => {
                    canvas.line((key_area.x, middle), (key_area.right(), middle), colour, 2);
                    draw_mark(canvas, key_area.centre(), mark, colour);
                }
                LegendKey::Patch(colour) => {
                    canvas.fill(key_area, colour);
                    canvas.outline(key_area, grey(0x80));
                }
            }
            let text_x = key_area.right() + TO_TEXT;
            let size = fitting([meaning.as_str()], area.right() - text_x, LABEL, false);
            canvas.text_across((text_x, middle), meaning, &Lettering::new(size));
        }
    }

    fn places(&self) -> Vec<(f64, f64)> {
        let (mut x, mut y) = (0.0, 0.0);
        let mut places = Vec::new();
        for (_, meaning) in &self.0 {
            let entry = KEY.0 + TO_TEXT + width_of(meaning, LABEL, false);
            if x > 0.0 && x + entry > BODY_WIDTH {
                (x, y) = (0.0, y + ROW);
            }
            places.push((x, y));
            x += entry + TO_NEXT;
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_within_the_width_and_apart() {
        let name = |slot: usize| format!("muxer={slot}, deferred");
        let legend = Legend(
            (0..9)
                .map(|slot| (LegendKey::Patch(grey(0)), name(slot)))
                .collect(),
        );
        let places = legend.places();
        let entry = KEY.0 + TO_TEXT + width_of(&name(0), LABEL, false);
        assert!(places.iter().all(|(x, _)| x + entry <= BODY_WIDTH));
        assert!(
            places
                .windows(2)
                .all(|two| two[1].1 > two[0].1 || two[1].0 >= two[0].0 + entry)
        );
        assert!(legend.height() > ROW);
        assert_eq!(Legend::default().height(), 0.0);
    }
}
