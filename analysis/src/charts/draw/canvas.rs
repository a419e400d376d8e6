//! A sheet on which plotters writes SVG, and places on it, in pixels from its upper left corner. Plotters knows whole
//! pixels only.

use std::fmt::Debug;

use plotters::{
    backend::{DrawingBackend, SVGBackend},
    style::{Color, ShapeStyle},
};

use super::{colour::Colour, text::Lettering};

pub(crate) struct Canvas<'a>(SVGBackend<'a>);

pub(crate) fn svg(size: (u32, u32), draw: impl FnOnce(&mut Canvas)) -> String {
    let mut svg = String::new();
    draw(&mut Canvas(SVGBackend::with_string(&mut svg, size)));
    svg
}

impl Canvas<'_> {
    pub(crate) fn fill(&mut self, area: Rect, colour: Colour) {
        self.rectangle(area, colour, true);
    }

    pub(crate) fn outline(&mut self, area: Rect, colour: Colour) {
        self.rectangle(area, colour, false);
    }

    fn rectangle(&mut self, area: Rect, colour: Colour, is_filled: bool) {
        let (from, to) = (
            pixel((area.x, area.y)),
            pixel((area.right(), area.bottom())),
        );
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

    /// The letters stand on `at`, which is where the line starts, is centred or ends.
    pub(crate) fn text(&mut self, at: Point, text: &str, style: &Lettering) {
        let top = (at.0, at.1 - style.top_to_baseline());
        written(self.0.draw_text(text, &style.in_plotters(), pixel(top)));
    }

    /// The letters have `at` at half the height of digits and capitals.
    pub(crate) fn text_across(&mut self, at: Point, text: &str, style: &Lettering) {
        const HALF_A_CAPITAL_EM: f64 = 0.365;
        self.text((at.0, at.1 + HALF_A_CAPITAL_EM * style.size), text, style);
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

    pub(crate) fn with_width(&self, width: f64) -> Self {
        Self { width, ..*self }
    }

    pub(crate) fn with_height(&self, height: f64) -> Self {
        Self { height, ..*self }
    }

    pub(crate) fn below(&self, height: f64) -> Self {
        Self {
            y: self.y + height,
            height: self.height - height,
            ..*self
        }
    }

    pub(crate) fn right_of(&self, width: f64) -> Self {
        Self {
            x: self.x + width,
            width: self.width - width,
            ..*self
        }
    }

    pub(crate) fn column(&self, index: usize, count: usize, gap: f64) -> Self {
        let width = (self.width - gap * (count as f64 - 1.0)) / count as f64;
        self.right_of(index as f64 * (width + gap))
            .with_width(width)
    }

    pub(crate) fn row(&self, index: usize, count: usize, gap: f64) -> Self {
        let height = (self.height - gap * (count as f64 - 1.0)) / count as f64;
        self.below(index as f64 * (height + gap))
            .with_height(height)
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
