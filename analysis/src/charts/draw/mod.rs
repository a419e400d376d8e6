//! Lines, areas, letters and axes, for any kind of picture.

mod axis;
mod canvas;
mod colour;
mod font;
mod geometry;
mod ink;
mod png;
mod style;
mod svg;
mod text;
mod ticks;

pub(super) use self::png::png;
pub(super) use axis::{Axis, Tick, extent};
pub(super) use canvas::Canvas;
#[cfg(test)]
pub(super) use canvas::Shape;
pub(super) use colour::{Colour, FAINT_INK, INK, contrasting, diverging, grey, sequential};
pub(super) use font::width_of;
pub(super) use geometry::{Point, Rect};
#[cfg(test)]
pub(super) use ink::Align;
pub(super) use ink::{Lettering, Pen};
pub(super) use style::{PointMark, SeriesStyle, draw_mark, error_bar, okabe_ito};
pub(super) use svg::svg;
pub(super) use text::{fitting, widest, wrap};
