//! Converts the pixels of a picture to the subpixels of a surface.

use anyhow::{Error, Result};
use plotters::style::{Color, RGBAColor};

use super::{
    colour::Colour,
    dashes,
    geometry::{Point, Rect},
    ink::{Lettering, Pen},
    surface::{SUBPIXELS, Spot, Surface, opaque},
};

/// Draws until the first failure and returns it at the end, so that charts need no error handling.
pub(crate) struct Canvas<'a> {
    surface: &'a mut dyn Surface,
    failure: Option<Error>,
}

impl<'a> Canvas<'a> {
    pub(crate) fn new(surface: &'a mut dyn Surface) -> Self {
        Self {
            surface,
            failure: None,
        }
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.failure.map_or(Ok(()), Err)
    }

    pub(crate) fn fill(&mut self, area: Rect, colour: Colour) {
        self.tint(area, opaque(colour));
    }

    /// Lets through what is below.
    pub(crate) fn shade(&mut self, area: Rect, colour: Colour, opacity: f64) {
        self.tint(area, colour.mix(opacity));
    }

    fn tint(&mut self, area: Rect, colour: RGBAColor) {
        let from = spot(Point::new(area.x, area.y));
        let to = spot(Point::new(area.right(), area.bottom()));
        self.on(|surface| surface.fill_rect(from, to, colour));
    }

    pub(crate) fn outline(&mut self, area: Rect, pen: Pen) {
        let ([left, right], [top, bottom]) = ([area.x, area.right()], [area.y, area.bottom()]);
        // Two sides are longer by half the width at both ends, which closes the corners.
        let half = pen.width / 2.0;
        for y in [top, bottom] {
            self.line(Point::new(left - half, y), Point::new(right + half, y), pen);
        }
        for x in [left, right] {
            self.line(Point::new(x, top), Point::new(x, bottom), pen);
        }
    }

    pub(crate) fn line(&mut self, from: Point, to: Point, pen: Pen) {
        self.path(&[from, to], pen);
    }

    pub(crate) fn path(&mut self, points: &[Point], pen: Pen) {
        let width = subpixels(pen.width).max(1) as u32;
        for piece in dashes::along(points, pen.dashes) {
            let mut spots: Vec<Spot> = piece.into_iter().map(spot).collect();
            spots.dedup();
            // A line to where it began has no direction, which not every viewer takes well.
            if spots.len() > 1 {
                self.on(|surface| surface.stroke(&spots, width, pen.colour));
            }
        }
    }

    pub(crate) fn polygon(&mut self, corners: &[Point], colour: Colour) {
        let spots: Vec<Spot> = corners.iter().copied().map(spot).collect();
        self.on(|surface| surface.fill_polygon(&spots, colour));
    }

    pub(crate) fn dot(&mut self, centre: Point, radius: f64, colour: Colour) {
        let radius = subpixels(radius).max(1) as u32;
        self.on(|surface| surface.fill_circle(spot(centre), radius, colour));
    }

    /// The letters stand on `at`.
    pub(crate) fn text(&mut self, at: Point, text: &str, style: &Lettering) {
        self.on(|surface| surface.text(spot(at), text, style));
    }

    /// The letters have `at` at half their height.
    pub(crate) fn text_across(&mut self, at: Point, text: &str, style: &Lettering) {
        let at = if style.upward {
            Point::new(at.x + style.drop(), at.y)
        } else {
            Point::new(at.x, at.y + style.drop())
        };
        self.text(at, text, style);
    }

    fn on(&mut self, draw: impl FnOnce(&mut dyn Surface) -> Result<()>) {
        if self.failure.is_none() {
            self.failure = draw(self.surface).err();
        }
    }
}

fn spot(point: Point) -> Spot {
    (subpixels(point.x), subpixels(point.y))
}

fn subpixels(pixels: f64) -> i32 {
    (pixels * f64::from(SUBPIXELS)).round() as i32
}
