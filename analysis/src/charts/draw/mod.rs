//! Shapes, letters, colours and axes, for any kind of picture.

mod axis;
mod canvas;
mod colour;
mod style;
mod text;

pub(super) use axis::Axis;
pub(super) use canvas::{Canvas, Rect, svg};
pub(super) use colour::{Colour, FAINT_INK, INK, SHADES, contrasting, diverging, grey, sequential};
pub(super) use style::{PointMark, area_colour, draw_mark, error_bar, line_style};
pub(super) use text::{Lettering, faces, fitting, widest, width_of, wrap};
