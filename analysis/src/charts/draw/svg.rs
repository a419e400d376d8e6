//! Pictures as SVG.

use std::fmt::Write;

use super::{
    canvas::Shape,
    colour::Colour,
    font,
    geometry::Point,
    ink::{Align, Lettering},
};
use crate::text::escaped;

pub(crate) fn svg(shapes: &[Shape], (width, height): (u32, u32)) -> String {
    let mut svg = format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         xmlns=\"http://www.w3.org/2000/svg\" font-family=\"{}\">\n",
        font::FAMILY
    );
    for shape in shapes {
        svg += &element(shape);
        svg.push('\n');
    }
    svg + "</svg>\n"
}

fn element(shape: &Shape) -> String {
    match shape {
        Shape::Area {
            corners,
            colour,
            opacity,
        } => {
            let (points, fill) = (points(corners), hex(*colour));
            let opacity = match opacity {
                1.0 => String::new(),
                _ => format!(" fill-opacity=\"{opacity}\""),
            };
            format!("<polygon points=\"{points}\" fill=\"{fill}\"{opacity}/>")
        }
        Shape::Line { points: of, pen } => {
            let dashes = pen.dashes.iter().map(|it| format!("{it} "));
            let dashes = match dashes.collect::<String>() {
                none if none.is_empty() => none,
                some => format!(" stroke-dasharray=\"{}\"", some.trim_end()),
            };
            format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dashes}/>",
                points(of),
                hex(pen.colour),
                pen.width
            )
        }
        Shape::Dot {
            centre,
            radius,
            colour,
        } => {
            let (x, y, fill) = (short(centre.x), short(centre.y), hex(*colour));
            format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{fill}\"/>")
        }
        Shape::Text { at, text, style } => letters(*at, text, style),
    }
}

fn letters(at: Point, text: &str, style: &Lettering) -> String {
    let (x, y, fill) = (short(at.x), short(at.y), hex(style.colour));
    let anchor = match style.align {
        Align::Left => "",
        Align::Centre => " text-anchor=\"middle\"",
        Align::Right => " text-anchor=\"end\"",
    };
    let weight = if style.bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{fill}\"{anchor}{weight}>{}</text>",
        short(style.size),
        escaped(text)
    )
}

fn points(of: &[Point]) -> String {
    let mut points = String::new();
    for (at, point) in of.iter().enumerate() {
        let space = if at == 0 { "" } else { " " };
        let _ = write!(points, "{space}{},{}", short(point.x), short(point.y));
    }
    points
}

/// To a tenth of a pixel.
fn short(value: f64) -> f64 {
    (10.0 * value).round() / 10.0
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
