//! A surface that draws nothing and records the places of text.

use anyhow::Result;
use plotters::style::RGBAColor;

use crate::charts::{
    Picture,
    draw::{Align, Canvas, Colour, Lettering, Rect, SUBPIXELS, Spot, Surface, width_of},
    parts::frame,
};

#[derive(Default)]
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
        let mut canvas = Canvas::new(&mut recorder);
        frame::draw(&mut canvas, picture);
        canvas.finish().expect("nothing is drawn, so nothing fails");
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

impl Surface for TextRecorder {
    fn fill_rect(&mut self, _: Spot, _: Spot, _: RGBAColor) -> Result<()> {
        Ok(())
    }

    fn stroke(&mut self, _: &[Spot], _: u32, _: Colour) -> Result<()> {
        Ok(())
    }

    fn fill_polygon(&mut self, _: &[Spot], _: Colour) -> Result<()> {
        Ok(())
    }

    fn fill_circle(&mut self, _: Spot, _: u32, _: Colour) -> Result<()> {
        Ok(())
    }

    fn text(&mut self, at: Spot, text: &str, style: &Lettering) -> Result<()> {
        let (x, y) = (
            f64::from(at.0) / f64::from(SUBPIXELS),
            f64::from(at.1) / f64::from(SUBPIXELS),
        );
        let width = width_of(text, style.size, style.bold);
        let before = match style.align {
            Align::Left => 0.0,
            Align::Centre => width / 2.0,
            Align::Right => width,
        };
        // From the top of digits to the bottom of a "g".
        let (above, tall) = (0.74 * style.size, 0.95 * style.size);
        let place = if style.upward {
            Rect::new(x - above, y - (width - before), tall, width)
        } else {
            Rect::new(x - before, y - above, width, tall)
        };
        self.texts.push((text.to_owned(), place));
        self.smallest = self.smallest.min(style.size);
        Ok(())
    }
}
