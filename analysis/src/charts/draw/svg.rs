//! Pictures as SVG.

use plotters::{
    backend::{DrawingBackend, SVGBackend},
    style::{
        FontDesc, FontFamily, FontStyle, RGBAColor, ShapeStyle, TextStyle,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::{
    canvas::Shape,
    colour::Colour,
    font,
    geometry::Point,
    ink::{Align, Lettering},
};

/// The backend moves text down by this much, in em, if its place is that of its top.
const TOP_TO_BASELINE_EM: f64 = 0.76;

/// The backend divides the size of text by this to get the em.
const SIZE_PER_EM: f64 = 1.24;

pub(crate) fn svg(shapes: &[Shape], size: (u32, u32)) -> String {
    let mut svg = String::new();
    let mut backend = SVGBackend::with_string(&mut svg, size);
    for shape in shapes {
        draw(&mut backend, shape);
    }
    drop(backend);
    svg
}

fn draw(backend: &mut SVGBackend, shape: &Shape) {
    let drawn = match shape {
        Shape::Area {
            corners,
            colour,
            opacity,
        } => backend.fill_polygon(corners.iter().map(pixel), &mixed(*colour, *opacity)),
        Shape::Line { points, pen } => {
            let style = ShapeStyle {
                color: mixed(pen.colour, 1.0),
                filled: false,
                stroke_width: pen.width.round().max(1.0) as u32,
            };
            dashes(points, pen.dashes)
                .try_for_each(|dash| backend.draw_path(dash.iter().map(pixel), &style))
        }
        Shape::Dot {
            centre,
            radius,
            colour,
        } => {
            let radius = radius.round().max(1.0) as u32;
            backend.draw_circle(pixel(centre), radius, &mixed(*colour, 1.0), true)
        }
        Shape::Text { at, text, style } => {
            let top = Point::new(at.x, at.y - TOP_TO_BASELINE_EM * style.size);
            backend.draw_text(text, &letters(style), pixel(&top))
        }
    };
    drawn.expect("a string can be written to");
}

fn letters(style: &Lettering) -> TextStyle<'static> {
    let weight = if style.bold {
        FontStyle::Bold
    } else {
        FontStyle::Normal
    };
    let align = match style.align {
        Align::Left => HPos::Left,
        Align::Centre => HPos::Center,
        Align::Right => HPos::Right,
    };
    let family = FontFamily::Name(font::FAMILY);
    FontDesc::new(family, style.size * SIZE_PER_EM, weight)
        .color(&mixed(style.colour, 1.0))
        .pos(Pos::new(align, VPos::Top))
}

/// The backend has no dashes, so each is a line. They go on around corners. A solid line is a single one.
fn dashes(points: &[Point], lengths: &[f64]) -> impl Iterator<Item = Vec<Point>> {
    let mut lengths = lengths.iter().copied().cycle();
    let mut length = move || lengths.next().unwrap_or(f64::INFINITY);
    let mut pieces: Vec<Vec<Point>> = vec![points.iter().take(1).copied().collect()];
    let mut left = length();
    for ends in points.windows(2) {
        let (mut from, to) = (ends[0], ends[1]);
        let mut way = (to.x - from.x).hypot(to.y - from.y);
        while way > left {
            let part = left / way;
            from.x += part * (to.x - from.x);
            from.y += part * (to.y - from.y);
            way -= left;
            left = length();
            pieces.last_mut().into_iter().for_each(|it| it.push(from));
            pieces.push(vec![from]);
        }
        left -= way;
        pieces.last_mut().into_iter().for_each(|it| it.push(to));
    }
    // Every other one is a gap.
    pieces.into_iter().step_by(2)
}

/// The backend knows whole pixels only.
fn pixel(point: &Point) -> (i32, i32) {
    (point.x.round() as i32, point.y.round() as i32)
}

fn mixed(Colour(red, green, blue): Colour, opacity: f64) -> RGBAColor {
    RGBAColor(red, green, blue, opacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_are_as_long_as_asked_around_a_corner() {
        let corner = [(0.0, 0.0), (6.0, 0.0), (6.0, 6.0)].map(|(x, y)| Point::new(x, y));
        let at = |lengths| -> Vec<Vec<_>> {
            let pieces = dashes(&corner, lengths);
            pieces.map(|it| it.iter().map(pixel).collect()).collect()
        };
        let third = vec![(6, 4), (6, 6)];
        assert_eq!(
            at(&[4.0, 1.0]),
            [vec![(0, 0), (4, 0)], vec![(5, 0), (6, 0), (6, 3)], third]
        );
        assert_eq!(at(&[]), [vec![(0, 0), (6, 0), (6, 6)]]);
    }
}
