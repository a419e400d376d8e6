//! What a picture consists of, from the lowest shape to the uppermost.

use super::{
    colour::Colour,
    geometry::{Point, Rect},
    ink::{Lettering, Pen},
};

#[derive(Debug)]
pub(crate) enum Shape {
    /// A polygon.
    Area {
        corners: Vec<Point>,
        colour: Colour,
        opacity: f64,
    },
    Line {
        points: Vec<Point>,
        pen: Pen,
    },
    Dot {
        centre: Point,
        radius: f64,
        colour: Colour,
    },
    /// The letters stand on `at`, which is where the line starts, is centred or ends.
    Text {
        at: Point,
        text: String,
        style: Lettering,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Canvas(pub(crate) Vec<Shape>);

impl Canvas {
    pub(crate) fn fill(&mut self, area: Rect, colour: Colour) {
        self.shade(area, colour, 1.0);
    }

    /// Lets through what is below.
    pub(crate) fn shade(&mut self, area: Rect, colour: Colour, opacity: f64) {
        let corners = area.corners().to_vec();
        self.0.push(Shape::Area {
            corners,
            colour,
            opacity,
        });
    }

    pub(crate) fn outline(&mut self, area: Rect, pen: Pen) {
        let [first, second, third, fourth] = area.corners();
        self.path(&[first, second, third, fourth, first, second], pen);
    }

    pub(crate) fn line(&mut self, from: Point, to: Point, pen: Pen) {
        self.path(&[from, to], pen);
    }

    pub(crate) fn path(&mut self, points: &[Point], pen: Pen) {
        let points = points.to_vec();
        self.0.push(Shape::Line { points, pen });
    }

    pub(crate) fn polygon(&mut self, corners: &[Point], colour: Colour) {
        self.0.push(Shape::Area {
            corners: corners.to_vec(),
            colour,
            opacity: 1.0,
        });
    }

    pub(crate) fn dot(&mut self, centre: Point, radius: f64, colour: Colour) {
        self.0.push(Shape::Dot {
            centre,
            radius,
            colour,
        });
    }

    pub(crate) fn text(&mut self, at: Point, text: &str, style: &Lettering) {
        self.0.push(Shape::Text {
            at,
            text: text.to_owned(),
            style: *style,
        });
    }

    /// The letters have `at` at half their height.
    pub(crate) fn text_across(&mut self, at: Point, text: &str, style: &Lettering) {
        self.text(Point::new(at.x, at.y + style.drop()), text, style);
    }
}
