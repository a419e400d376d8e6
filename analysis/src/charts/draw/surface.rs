//! The interface to the backends of plotters, and the one to a backend that draws letters itself.

use anyhow::{Result, anyhow};
use plotters::{
    backend::DrawingBackend,
    style::{
        Color, FontDesc, FontFamily, FontStyle, FontTransform, RGBAColor, ShapeStyle,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::{
    colour::Colour,
    font,
    ink::{Align, Lettering},
};

/// Backends draw at whole pixels only, so each pixel of a picture is several of theirs.
pub(crate) const SUBPIXELS: u32 = 2;

/// The distance, in em, by which the SVG backend moves text down from its place.
const TOP_TO_BASELINE_EM: f64 = 0.76;

/// The ratio of plotters' text size to the em.
const SIZE_PER_EM: f64 = 1.24;

/// A place in subpixels.
pub(crate) type Spot = (i32, i32);

/// Sizes are in subpixels, too.
pub(crate) trait Surface {
    fn fill_rect(&mut self, from: Spot, to: Spot, colour: RGBAColor) -> Result<()>;
    fn stroke(&mut self, spots: &[Spot], width: u32, colour: Colour) -> Result<()>;
    fn fill_polygon(&mut self, spots: &[Spot], colour: Colour) -> Result<()>;
    fn fill_circle(&mut self, centre: Spot, radius: u32, colour: Colour) -> Result<()>;
    /// The letters stand on `at`, which is where the line starts, is centred or ends.
    fn text(&mut self, at: Spot, text: &str, style: &Lettering) -> Result<()>;
}

/// A backend that draws shapes and letters itself.
pub(crate) struct Vector<DB: DrawingBackend>(pub(crate) DB);

impl<DB: DrawingBackend> Vector<DB> {
    pub(crate) fn finish(&mut self) -> Result<()> {
        drawn(self.0.present())
    }
}

impl<DB: DrawingBackend> Surface for Vector<DB> {
    fn fill_rect(&mut self, from: Spot, to: Spot, colour: RGBAColor) -> Result<()> {
        drawn(
            self.0
                .draw_rect(from, to, &ShapeStyle::from(colour).filled(), true),
        )
    }

    fn stroke(&mut self, spots: &[Spot], width: u32, colour: Colour) -> Result<()> {
        let style = ShapeStyle::from(colour).stroke_width(width);
        drawn(self.0.draw_path(spots.iter().copied(), &style))
    }

    fn fill_polygon(&mut self, spots: &[Spot], colour: Colour) -> Result<()> {
        drawn(self.0.fill_polygon(spots.iter().copied(), &colour))
    }

    fn fill_circle(&mut self, centre: Spot, radius: u32, colour: Colour) -> Result<()> {
        drawn(
            self.0
                .draw_circle(centre, radius, &ShapeStyle::from(colour).filled(), true),
        )
    }

    fn text(&mut self, at: Spot, text: &str, style: &Lettering) -> Result<()> {
        let em = style.size * f64::from(SUBPIXELS);
        let down = (TOP_TO_BASELINE_EM * em).round() as i32;
        let (top, turn) = if style.upward {
            ((at.0 - down, at.1), FontTransform::Rotate270)
        } else {
            ((at.0, at.1 - down), FontTransform::None)
        };
        let weight = if style.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        let style = FontDesc::new(FontFamily::Name(font::FAMILY), em * SIZE_PER_EM, weight)
            .transform(turn)
            .color(&style.colour)
            .pos(Pos::new(anchor(style.align), VPos::Top));
        drawn(self.0.draw_text(text, &style, top))
    }
}

fn anchor(align: Align) -> HPos {
    match align {
        Align::Left => HPos::Left,
        Align::Centre => HPos::Center,
        Align::Right => HPos::Right,
    }
}

pub(crate) fn drawn<E: std::fmt::Display>(result: Result<(), E>) -> Result<()> {
    result.map_err(|error| anyhow!("cannot draw: {error}"))
}

/// Opaque, as backends want it.
pub(crate) fn opaque(colour: Colour) -> RGBAColor {
    colour.mix(1.0)
}
