//! A sheet on which plotters writes SVG. It knows whole pixels only.

use std::fmt::Debug;

use plotters::{
    backend::{DrawingBackend, SVGBackend},
    style::{Color, ShapeStyle},
};

use super::{
    colour::Colour,
    geometry::{Point, Rect},
    text::Lettering,
};

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
