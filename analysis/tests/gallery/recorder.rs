//! The places of the text of a picture.

use crate::charts::{
    Picture,
    draw::{Align, Lettering, Point, Rect, Shape, width_of},
    parts::frame,
};

impl Rect {
    pub(crate) fn contains(&self, other: &Rect) -> bool {
        let slack = 1e-6;
        other.x >= self.x - slack
            && other.y >= self.y - slack
            && other.right() <= self.right() + slack
            && other.bottom() <= self.bottom() + slack
    }

    /// The area that both cover.
    pub(crate) fn overlap(&self, other: &Rect) -> f64 {
        let width = self.right().min(other.right()) - self.x.max(other.x);
        let height = self.bottom().min(other.bottom()) - self.y.max(other.y);
        width.max(0.0) * height.max(0.0)
    }
}

pub(crate) struct TextRecorder {
    texts: Vec<(String, Rect)>,
    smallest: f64,
}

impl TextRecorder {
    pub(crate) fn of(picture: &dyn Picture) -> Self {
        let mut recorder = Self {
            texts: Vec::new(),
            smallest: f64::INFINITY,
        };
        for shape in frame::draw(picture).0 {
            if let Shape::Text { at, text, style } = shape {
                recorder.smallest = recorder.smallest.min(style.size);
                recorder
                    .texts
                    .push((text.clone(), place(at, &text, &style)));
            }
        }
        recorder
    }

    pub(crate) fn smallest(&self) -> f64 {
        self.smallest
    }

    pub(crate) fn outside(&self, (width, height): (u32, u32)) -> Vec<String> {
        let page = Rect::new(0.0, 0.0, f64::from(width), f64::from(height)).inset(4.0);
        let out = self.texts.iter().filter(|(_, place)| !page.contains(place));
        out.map(|(text, place)| format!("{text} {place:?}"))
            .collect()
    }

    pub(crate) fn overlapping(&self) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for (index, (text, place)) in self.texts.iter().enumerate() {
            for (other, taken) in &self.texts[..index] {
                if place.overlap(taken) > 2.0 {
                    pairs.push((other.clone(), text.clone()));
                }
            }
        }
        pairs
    }
}

fn place(at: Point, text: &str, style: &Lettering) -> Rect {
    let width = width_of(text, style.size, style.bold);
    let before = match style.align {
        Align::Left => 0.0,
        Align::Centre => width / 2.0,
        Align::Right => width,
    };
    // From the top of digits to the bottom of a "g".
    let (above, tall) = (0.74 * style.size, 0.95 * style.size);
    Rect::new(at.x - before, at.y - above, width, tall)
}
