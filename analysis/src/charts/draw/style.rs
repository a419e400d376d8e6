//! The looks of lines: colour and marker. Each alone is enough to recognise a line among a few.

use super::{canvas::Canvas, colour::Colour, geometry::Point, ink::Pen};

/// Okabe and Ito's colours without yellow, which is too light for a line.
const LINE_COLOURS: [Colour; 7] = [
    Colour(0x00, 0x72, 0xb2),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x00, 0x9e, 0x73),
    Colour(0xcc, 0x79, 0xa7),
    Colour(0x00, 0x00, 0x00),
    Colour(0xe6, 0x9f, 0x00),
    Colour(0x56, 0xb4, 0xe9),
];

/// For areas, where light colours are as good, in an order that sets neighbours apart.
const AREA_COLOURS: [Colour; 8] = [
    Colour(0x00, 0x72, 0xb2),
    Colour(0xe6, 0x9f, 0x00),
    Colour(0x56, 0xb4, 0xe9),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x00, 0x9e, 0x73),
    Colour(0xf0, 0xe4, 0x42),
    Colour(0xcc, 0x79, 0xa7),
    Colour(0x70, 0x70, 0x70),
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

#[derive(Clone, Copy, Debug)]
pub(crate) struct SeriesStyle {
    pub(crate) pen: Pen,
    pub(crate) mark: PointMark,
}

impl SeriesStyle {
    pub(crate) fn of(slot: usize) -> Self {
        Self {
            pen: Pen::new(LINE_COLOURS[slot % LINE_COLOURS.len()], 2.5),
            mark: MARKS[slot % MARKS.len()],
        }
    }
}

pub(crate) fn okabe_ito(index: usize) -> Colour {
    AREA_COLOURS[index % AREA_COLOURS.len()]
}

/// All marks look about equally large.
pub(crate) fn draw_mark(canvas: &mut Canvas, at: Point, mark: PointMark, colour: Colour) {
    match mark {
        PointMark::Circle => canvas.dot(at, 6.0, colour),
        PointMark::Ring => {
            canvas.dot(at, 6.5, colour);
            canvas.dot(at, 3.5, Colour(255, 255, 255));
        }
        PointMark::Square => canvas.polygon(&around(at, SQUARE), colour),
        PointMark::Triangle => canvas.polygon(&around(at, TRIANGLE), colour),
        PointMark::Diamond => canvas.polygon(&around(at, DIAMOND), colour),
    }
}

const SQUARE: [(f64, f64); 4] = [(-5.5, -5.5), (5.5, -5.5), (5.5, 5.5), (-5.5, 5.5)];
const TRIANGLE: [(f64, f64); 3] = [(0.0, -7.5), (7.0, 5.0), (-7.0, 5.0)];
const DIAMOND: [(f64, f64); 4] = [(0.0, -8.0), (7.0, 0.0), (0.0, 8.0), (-7.0, 0.0)];

fn around<const N: usize>(at: Point, corners: [(f64, f64); N]) -> [Point; N] {
    corners.map(|(x, y)| Point::new(at.x + x, at.y + y))
}

const CAP: f64 = 5.0;
const BAR_WIDTH: f64 = 1.5;

/// With a cap at both ends.
pub(crate) fn error_bar(canvas: &mut Canvas, ends: [Point; 2], colour: Colour) {
    let pen = Pen::new(colour, BAR_WIDTH);
    canvas.line(ends[0], ends[1], pen);
    for Point { x, y } in ends {
        canvas.line(Point::new(x - CAP, y), Point::new(x + CAP, y), pen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_lines_have_no_two_alike() {
        let look = |slot: usize| {
            let style = SeriesStyle::of(slot);
            (style.pen.colour, style.mark)
        };
        for slot in 0..28 {
            for other in 0..slot {
                assert_ne!(look(slot), look(other), "lines {slot} and {other}");
            }
        }
    }
}
