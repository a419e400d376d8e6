//! The places of the text of a picture, read from its SVG.

use crate::charts::canvas::Rect;
use crate::charts::lettering::Lettering;

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

/// The value of an attribute of the first element.
pub(crate) fn attribute<'a>(svg: &'a str, name: &str) -> Option<&'a str> {
    let element = svg.split('>').next()?;
    let (_, value) = element.split_once(&format!(" {name}=\""))?;
    value.split('"').next()
}

pub(crate) fn size_of(svg: &str) -> (u32, u32) {
    let number = |name| attribute(svg, name)?.parse().ok();
    let size = number("width").zip(number("height"));
    size.expect("an SVG has a size")
}

pub(crate) struct TextRecorder {
    texts: Vec<(String, Rect)>,
    smallest: f64,
}

impl TextRecorder {
    pub(crate) fn of(svg: &str) -> Self {
        let mut recorder = Self {
            texts: Vec::new(),
            smallest: f64::INFINITY,
        };
        for element in svg.split("<text").skip(1) {
            let number = |name: &str| -> f64 {
                let text = attribute(element, name).expect("all letters have a place");
                text.parse().expect("a number")
            };
            let (_, rest) = element.split_once('>').expect("its content");
            let text = rest.split("</text>").next().unwrap_or_default().trim();
            let text = text.replace("&lt;", "<").replace("&gt;", ">");
            let size = number("font-size");
            let width = Lettering::new(size)
                .bold(attribute(element, "font-weight").is_some())
                .width_of(&text);
            let before = match attribute(element, "text-anchor") {
                Some("middle") => width / 2.0,
                Some("end") => width,
                _ => 0.0,
            };
            // From the top of digits to the bottom of a "g".
            let top = number("y") + 0.02 * size;
            recorder.smallest = recorder.smallest.min(size);
            let place = Rect::new(number("x") - before, top, width, 0.95 * size);
            recorder.texts.push((text, place));
        }
        recorder
    }

    pub(crate) fn smallest(&self) -> f64 {
        self.smallest
    }

    pub(crate) fn outside(&self, (width, height): (u32, u32)) -> Vec<String> {
        let (width, height) = (f64::from(width), f64::from(height));
        let page = Rect::new(4.0, 4.0, width - 8.0, height - 8.0);
        let out = self.texts.iter().filter(|(_, place)| !page.contains(place));
        out.map(|(text, place)| format!("{text} {place:?}"))
            .collect()
    }

    pub(crate) fn overlapping(&self) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for (index, (text, place)) in self.texts.iter().enumerate() {
            for (other, taken) in &self.texts[..index] {
                // Letters stand on whole pixels.
                let most = 1.0 + place.width.min(taken.width);
                if place.overlap(taken) > most {
                    pairs.push((other.clone(), text.clone()));
                }
            }
        }
        pairs
    }
}
