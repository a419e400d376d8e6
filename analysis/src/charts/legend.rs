//! The legend: explains the keys of a picture, in as many rows as they need.

use super::{
    canvas::{Canvas, Rect},
    lettering::Lettering,
    picture::LABEL,
};

const KEY: (f64, f64) = (38.0, 20.0);
const TO_TEXT: f64 = 9.0;
const TO_NEXT: f64 = 26.0;
const ROW: f64 = 30.0;

/// `draw_key` draws the key of a meaning, by index. Returns how far down the legend reaches.
pub(crate) fn draw_legend(
    canvas: &mut Canvas,
    area: Rect,
    meanings: &[impl AsRef<str>],
    mut draw_key: impl FnMut(&mut Canvas, usize, Rect),
) -> f64 {
    let style = Lettering::new(LABEL);
    let (mut x, mut bottom) = (area.right(), area.y);
    for (index, meaning) in meanings.iter().enumerate() {
        let width = KEY.0 + TO_TEXT + style.width_of(meaning.as_ref());
        if x + width > area.right() {
            (x, bottom) = (area.x, bottom + ROW);
        }
        let middle = bottom - ROW / 2.0;
        let key = Rect::new(x, middle - KEY.1 / 2.0, KEY.0, KEY.1);
        draw_key(canvas, index, key);
        let text_x = key.right() + TO_TEXT;
        let fitting = style.fitting([meaning], area.right() - text_x);
        canvas.text((text_x, middle), meaning.as_ref(), &fitting);
        x += width + TO_NEXT;
    }
    bottom
}
