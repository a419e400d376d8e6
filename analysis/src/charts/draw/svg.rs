//! Pictures as SVG.

use super::{canvas::Shape, colour::Colour, font, geometry::Point, ink::Align};
use crate::text::escaped;

pub(crate) fn svg(shapes: &[Shape], (width, height): (u32, u32)) -> String {
    let shapes: String = shapes.iter().map(element).collect();
    format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"{}\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n{shapes}</svg>\n",
        font::FAMILY
    )
}

fn element(shape: &Shape) -> String {
    match shape {
        Shape::Area {
            corners,
            colour,
            opacity,
        } => format!(
            "<polygon points=\"{}\" fill=\"{}\" opacity=\"{opacity}\"/>\n",
            points(corners),
            hex(*colour)
        ),
        Shape::Line { points: along, pen } => {
            let dashes: Vec<String> = pen.dashes.iter().map(f64::to_string).collect();
            let dashes = if dashes.is_empty() {
                "none".to_owned()
            } else {
                dashes.join(" ")
            };
            format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{dashes}\"/>\n",
                points(along),
                hex(pen.colour),
                pen.width
            )
        }
        Shape::Dot {
            centre,
            radius,
            colour,
        } => format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{radius}\" fill=\"{}\"/>\n",
            tenth(centre.x),
            tenth(centre.y),
            hex(*colour)
        ),
        Shape::Text { at, text, style } => {
            let anchor = match style.align {
                Align::Left => "start",
                Align::Centre => "middle",
                Align::Right => "end",
            };
            format!(
                "<text x=\"{}\" y=\"{}\" font-size=\"{}\" font-weight=\"{}\" text-anchor=\"{anchor}\" fill=\"{}\">{}</text>\n",
                tenth(at.x),
                tenth(at.y),
                tenth(style.size),
                if style.bold { "bold" } else { "normal" },
                hex(style.colour),
                escaped(text)
            )
        }
    }
}

fn points(points: &[Point]) -> String {
    let points: Vec<String> = points
        .iter()
        .map(|point| format!("{},{}", tenth(point.x), tenth(point.y)))
        .collect();
    points.join(" ")
}

/// Nobody sees more.
fn tenth(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
