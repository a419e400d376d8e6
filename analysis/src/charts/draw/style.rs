//! The looks of lines: colour and marker. Each alone is enough to recognise a line among a few.

use plotters::style::RGBColor;

use super::{
    canvas::{Canvas, Point},
    colour::Colour,
};

/// Okabe and Ito's colours without yellow, which is too light for a line.
const LINE_COLOURS: [Colour; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x00, 0x00, 0x00),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
];

/// For areas, where light colours are as good, in an order that sets neighbours apart.
const AREA_COLOURS: [Colour; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xf0, 0xe4, 0x42),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x70, 0x70, 0x70),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PointMark {
    Circle,
    Square,
    Triangle,
    Diamond,
    /// Not used by series.
    Ring,
}

/// Their number and that of the colours have no common factor, so that pairs differ for long.
const MARKS: [PointMark; 4] = [
    PointMark::Circle,
    PointMark::Square,
    PointMark::Triangle,
    PointMark::Diamond,
];

pub(crate) fn line_style(series: usize) -> (Colour, PointMark) {
    let colour = LINE_COLOURS[series % LINE_COLOURS.len()];
    (colour, MARKS[series % MARKS.len()])
}

pub(crate) fn area_colour(index: usize) -> Colour {
    AREA_COLOURS[index % AREA_COLOURS.len()]
}

/// All marks look about equally large.
pub(crate) fn draw_mark(canvas: &mut Canvas, at: Point, mark: PointMark, colour: Colour) {
    let mut polygon = |corners: &[Point]| {
        let corners = corners.iter().map(|(x, y)| (at.0 + x, at.1 + y));
        canvas.polygon(corners, colour);
    };
    match mark {
        PointMark::Circle => canvas.dot(at, 6, colour),
        PointMark::Ring => {
            canvas.dot(at, 6, colour);
            canvas.dot(at, 3, RGBColor(255, 255, 255));
        }
        PointMark::Square => polygon(&[(-5.0, -5.0), (6.0, -5.0), (6.0, 6.0), (-5.0, 6.0)]),
        PointMark::Triangle => polygon(&[(0.0, -8.0), (7.0, 5.0), (-7.0, 5.0)]),
        PointMark::Diamond => polygon(&[(0.0, -8.0), (7.0, 0.0), (0.0, 8.0), (-7.0, 0.0)]),
    }
}

pub(crate) fn error_bar(canvas: &mut Canvas, x: f64, ends: (f64, f64), colour: Colour) {
    const CAP: f64 = 5.0;
    const WIDTH: u32 = 2;
    canvas.line((x, ends.0), (x, ends.1), colour, WIDTH);
    for y in [ends.0, ends.1] {
        canvas.line((x - CAP, y), (x + CAP, y), colour, WIDTH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_lines_have_no_two_alike() {
        for line in 0..28 {
            for other in 0..line {
                assert_ne!(
                    line_style(line),
                    line_style(other),
                    "lines {line} and {other}"
                );
            }
        }
    }
}
