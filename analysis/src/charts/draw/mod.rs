//! Drawing without knowing what is drawn.

mod axis;
mod canvas;
mod colour;
mod dashes;
mod font;
mod geometry;
mod ink;
mod number;
mod raster;
mod style;
mod surface;
mod text;
mod ticks;

pub(super) use axis::{Axis, Tick, extent};
pub(super) use canvas::Canvas;
pub(super) use colour::{Colour, FAINT_INK, INK, contrasting, diverging, grey, sequential};
pub(super) use geometry::{Point, Rect};
#[cfg(test)]
pub(super) use ink::Align;
pub(super) use ink::{Lettering, Pen};
pub(super) use number::{estimate, percent, short, short_signed, signed_estimate};
pub(super) use raster::Raster;
pub(super) use style::{Mark, SeriesStyle, draw_mark, error_bar_x, error_bar_y, okabe_ito};
#[cfg(test)]
pub(super) use surface::Spot;
pub(super) use surface::{SUBPIXELS, Surface, Vector};
pub(super) use text::{fitting, width_of, wrap};
