//! Smooth lines, dots and letters on a backend of pixels.

use anyhow::Result;
use plotters::{
    backend::DrawingBackend,
    style::{Color, RGBAColor, ShapeStyle},
};

use super::{
    colour::Colour,
    font,
    ink::{Align, Lettering},
    surface::{SUBPIXELS, Spot, Surface, drawn, opaque},
};

/// Draws smooth lines and exactly placed letters, which plotters' own rasterizer does not.
pub(crate) struct Raster<DB: DrawingBackend>(pub(crate) DB);

impl<DB: DrawingBackend> Surface for Raster<DB> {
    fn fill_rect(&mut self, from: Spot, to: Spot, colour: RGBAColor) -> Result<()> {
        drawn(
            self.0
                .draw_rect(from, to, &ShapeStyle::from(colour).filled(), true),
        )
    }

    fn stroke(&mut self, spots: &[Spot], width: u32, colour: Colour) -> Result<()> {
        for ends in spots.windows(2) {
            let (from, to) = (ends[0], ends[1]);
            if from.0 == to.0 || from.1 == to.1 {
                self.straight(from, to, width, colour)?;
            } else {
                self.capsule(from, to, f64::from(width) / 2.0, colour)?;
            }
        }
        Ok(())
    }

    fn fill_polygon(&mut self, spots: &[Spot], colour: Colour) -> Result<()> {
        drawn(self.0.fill_polygon(spots.iter().copied(), &colour))
    }

    fn fill_circle(&mut self, centre: Spot, radius: u32, colour: Colour) -> Result<()> {
        self.capsule(centre, centre, f64::from(radius), colour)
    }

    fn text(&mut self, at: Spot, text: &str, style: &Lettering) -> Result<()> {
        let em = style.size * f64::from(SUBPIXELS);
        let back = match style.align {
            Align::Left => 0.0,
            Align::Centre => font::advance(text, em, style.bold) / 2.0,
            Align::Right => font::advance(text, em, style.bold),
        };
        let mut result = Ok(());
        font::cover(
            text,
            em,
            style.bold,
            (-back as f32, 0.0),
            |x, y, coverage| {
                let (x, y) = if style.upward { (y, -x - 1) } else { (x, y) };
                if result.is_ok() {
                    result = self.pixel((at.0 + x, at.1 + y), style.colour, f64::from(coverage));
                }
            },
        );
        result
    }
}

impl<DB: DrawingBackend> Raster<DB> {
    /// Along an axis, with flat ends and sharp sides.
    fn straight(&mut self, from: Spot, to: Spot, width: u32, colour: Colour) -> Result<()> {
        let (before, after) = ((width / 2) as i32, width.div_ceil(2) as i32);
        let (left, right) = (from.0.min(to.0), from.0.max(to.0));
        let (top, bottom) = (from.1.min(to.1), from.1.max(to.1));
        let (from, to) = if left == right {
            ((left - before, top), (left + after, bottom))
        } else {
            ((left, top - before), (right, top + after))
        };
        self.fill_rect(from, to, opaque(colour))
    }

    /// Everything within `radius` of the line between two points.
    fn capsule(&mut self, from: Spot, to: Spot, radius: f64, colour: Colour) -> Result<()> {
        let segment = Segment::new(from, to);
        let reach = radius + 0.5;
        let (top, bottom) = (from.1.min(to.1), from.1.max(to.1));
        for y in top - reach.ceil() as i32..=bottom + reach.ceil() as i32 {
            let (left, right) = segment.span(f64::from(y), reach);
            for x in left.floor() as i32..=right.ceil() as i32 {
                let coverage = reach - segment.distance(f64::from(x), f64::from(y));
                if coverage > 0.0 {
                    self.pixel((x, y), colour, coverage.min(1.0))?;
                }
            }
        }
        Ok(())
    }

    fn pixel(&mut self, (x, y): Spot, colour: Colour, coverage: f64) -> Result<()> {
        let (width, height) = self.0.get_size();
        if x < 0 || y < 0 || x >= width as i32 || y >= height as i32 {
            return Ok(());
        }
        drawn(
            self.0
                .draw_pixel((x, y), colour.mix(coverage).to_backend_color()),
        )
    }
}

struct Segment {
    from: (f64, f64),
    along: (f64, f64),
    length_squared: f64,
}

impl Segment {
    fn new(from: Spot, to: Spot) -> Self {
        let along = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        Self {
            from: (f64::from(from.0), f64::from(from.1)),
            along,
            length_squared: along.0 * along.0 + along.1 * along.1,
        }
    }

    fn distance(&self, x: f64, y: f64) -> f64 {
        let (x, y) = (x - self.from.0, y - self.from.1);
        let part = if self.length_squared > 0.0 {
            ((x * self.along.0 + y * self.along.1) / self.length_squared).clamp(0.0, 1.0)
        } else {
            0.0
        };
        (x - part * self.along.0).hypot(y - part * self.along.1)
    }

    /// The columns between which a row can be nearer than `reach`.
    fn span(&self, y: f64, reach: f64) -> (f64, f64) {
        let part = |y: f64| {
            if self.along.1 == 0.0 {
                0.0
            } else {
                ((y - self.from.1) / self.along.1).clamp(0.0, 1.0)
            }
        };
        let one = self.from.0 + part(y - reach) * self.along.0;
        let other = self.from.0 + part(y + reach) * self.along.0;
        (one.min(other) - reach, one.max(other) + reach)
    }
}
