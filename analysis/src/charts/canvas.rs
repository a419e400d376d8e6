//! The sheet on which plotters draws SVG, and places on it. A place counts from the upper left corner, and plotters rounds it
//! to whole pixels.

use std::fmt::Debug;

use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::style::{Color, ShapeStyle};

use super::colour::Colour;
use super::lettering::Lettering;

pub(crate) struct Canvas<'a>(pub(super) SVGBackend<'a>);

impl Canvas<'_> {
    pub(crate) fn fill(&mut self, area: Rect, colour: Colour) {
        self.rectangle(area, colour, true);
    }

    pub(crate) fn outline(&mut self, area: Rect, colour: Colour) {
        self.rectangle(area, colour, false);
    }

    fn rectangle(&mut self, area: Rect, colour: Colour, is_filled: bool) {
        let ends = [(area.x, area.y), (area.right(), area.bottom())];
        let [from, to] = ends.map(pixel);
        written(self.0.draw_rect(from, to, &colour, is_filled));
    }

    pub(crate) fn line(&mut self, from: Point, to: Point, colour: Colour, width: u32) {
        let style = ShapeStyle {
            color: colour.to_rgba(),
            filled: false,
            stroke_width: width,
        };
        written(self.0.draw_line(pixel(from), pixel(to), &style));
    }

    pub(crate) fn polygon(&mut self, corners: impl IntoIterator<Item = Point>, colour: Colour) {
        let corners = corners.into_iter().map(pixel);
        written(self.0.fill_polygon(corners, &colour));
    }

    pub(crate) fn dot(&mut self, centre: Point, radius: u32, colour: Colour) {
        written(self.0.draw_circle(pixel(centre), radius, &colour, true));
    }

    /// Draws a line of text. The middle of its digits is at the height `y`, and its beginning, middle or end is at `x`.
    pub(crate) fn text(&mut self, (x, y): Point, text: &str, style: &Lettering) {
        let place = pixel((x, y - style.top_to_middle()));
        written(self.0.draw_text(text, &style.in_plotters(), place));
    }
}

fn pixel((x, y): Point) -> (i32, i32) {
    (x.round() as i32, y.round() as i32)
}

fn written<E: Debug>(drawn: Result<(), E>) {
    drawn.expect("a string can be written to");
}

pub(crate) type Point = (f64, f64);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    pub(crate) fn new(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self {
            x,
            y,
            width,
            height,
        }
    }

    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    pub(crate) fn centre(&self) -> Point {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    /// The area without a strip of this height at its top.
    pub(crate) fn below(&self, height: f64) -> Self {
        Self {
            y: self.y + height,
            height: self.height - height,
            ..*self
        }
    }

    /// The area without a strip of this width at its left.
    pub(crate) fn right_of(&self, width: f64) -> Self {
        Self {
            x: self.x + width,
            width: self.width - width,
            ..*self
        }
    }

    pub(crate) fn column(&self, index: usize, count: usize, gap: f64) -> Self {
        let width = (self.width - gap * (count as f64 - 1.0)) / count as f64;
        Self {
            width,
            ..self.right_of(index as f64 * (width + gap))
        }
    }
}

#[cfg(test)]
impl Rect {
    pub(super) fn contains(&self, other: &Rect) -> bool {
        let slack = 1e-6;
        other.x >= self.x - slack
            && other.y >= self.y - slack
            && other.right() <= self.right() + slack
            && other.bottom() <= self.bottom() + slack
    }

    pub(super) fn overlap(&self, other: &Rect) -> f64 {
        let width = self.right().min(other.right()) - self.x.max(other.x);
        let height = self.bottom().min(other.bottom()) - self.y.max(other.y);
        width.max(0.0) * height.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fill_the_width_and_do_not_overlap() {
        let whole = Rect::new(10.0, 0.0, 100.0, 5.0);
        let columns = [0, 1, 2].map(|index| whole.column(index, 3, 5.0));
        assert_eq!(columns[0].overlap(&columns[1]), 0.0);
        assert!((columns[2].right() - whole.right()).abs() < 1e-9);
        assert!(columns.iter().all(|column| whole.contains(column)));
    }
}
