//! Lines, areas, letters and axes, for any kind of picture.

mod axis;
mod canvas;
mod colour;
mod dashes;
mod font;
mod geometry;
mod ink;
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
pub(super) use raster::Raster;
pub(super) use style::{PointMark, SeriesStyle, draw_mark, error_bar, okabe_ito};
#[cfg(test)]
pub(super) use surface::Spot;
pub(super) use surface::{SUBPIXELS, Surface, Vector};
pub(super) use text::{fitting, widest, width_of, wrap};
