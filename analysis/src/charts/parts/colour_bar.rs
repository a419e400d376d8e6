//! Which colour is which value.

use crate::charts::{
    draw::{Axis, Canvas, Colour, Lettering, Pen, Point, Rect, Tick, fitting, grey, sequential},
    parts::frame::TICK,
    view::{ColourScale, DifferenceScale},
};

pub(crate) const HEIGHT: f64 = 78.0;
const BAR_HEIGHT: f64 = 20.0;
const STEPS: usize = 80;

pub(crate) fn draw(canvas: &mut Canvas<'_>, area: Rect, scale: &ColourScale) {
    draw_bar(
        canvas,
        area,
        &scale.legend(),
        sequential,
        scale.ticks(),
        (0.0, 1.0),
    );
}

/// Numbers grow to the right, whether that is better or worse.
pub(crate) fn draw_differences(canvas: &mut Canvas<'_>, area: Rect, scale: &DifferenceScale) {
    let colour = |place| scale.colour_at(place);
    draw_bar(
        canvas,
        area,
        &scale.legend(),
        colour,
        scale.ticks(),
        (-1.0, 1.0),
    );
}

fn draw_bar(
    canvas: &mut Canvas<'_>,
    area: Rect,
    name: &str,
    colour: impl Fn(f64) -> Colour,
    ticks: Vec<Tick>,
    (low, high): (f64, f64),
) {
    let size = fitting([name], area.width, TICK, false);
    canvas.text(
        Point::new(area.x, area.y + TICK),
        name,
        &Lettering::new(size),
    );
    // The label at the end sticks out by half its width.
    let bar = Rect::new(area.x, area.y + 28.0, area.width - 28.0, BAR_HEIGHT);
    draw_steps(canvas, bar, |place| colour(low + place * (high - low)));
    canvas.outline(bar, Pen::new(grey(0x80), 1.0));
    draw_ticks(
        canvas,
        &Axis::with_ticks(ticks, (low, high), (bar.x, bar.right())),
        bar.bottom(),
    );
}

fn draw_steps(canvas: &mut Canvas<'_>, bar: Rect, colour: impl Fn(f64) -> Colour) {
    for (step, part) in bar.columns(STEPS, 0.0).into_iter().enumerate() {
        // Into the next step, or viewers of an SVG show what is behind between the two.
        let width = (part.width + 1.0).min(bar.right() - part.x);
        canvas.fill(
            part.with_width(width),
            colour((step as f64 + 0.5) / STEPS as f64),
        );
    }
}

fn draw_ticks(canvas: &mut Canvas<'_>, axis: &Axis, y: f64) {
    for tick in axis.labels_with_room(TICK) {
        let x = axis.position(tick.value);
        canvas.line(
            Point::new(x, y),
            Point::new(x, y + 5.0),
            Pen::new(grey(0x40), 1.0),
        );
        canvas.text(
            Point::new(x, y + 22.0),
            &tick.label,
            &Lettering::new(TICK).centred(),
        );
    }
}
