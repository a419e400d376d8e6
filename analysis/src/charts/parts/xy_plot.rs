//! A plot with numbers on both axes.

use crate::charts::{
    draw::{Axis, Canvas, Lettering, Point, Rect},
    parts::{
        frame::TICK,
        line_panel::{draw_foot, draw_ground, draw_side_name, draw_values, grid_pen},
    },
};

pub(crate) struct XyPlot {
    pub(crate) area: Rect,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

impl XyPlot {
    /// Leaves room in `place` for the numbers and the name of the vertical axis, and on the right for half
    /// the label of the last tick.
    pub(crate) fn new(place: Rect, right: f64, y: Axis, x: impl FnOnce(Rect) -> Axis) -> XyPlot {
        let area = place.right_of(y.label_width(TICK) + 40.0);
        let area = area.with_width(area.width - right);
        XyPlot {
            area,
            x: x(area),
            y,
        }
    }

    pub(crate) fn point(&self, x: f64, y: f64) -> Point {
        Point::new(self.x.position(x), self.y.position(y))
    }

    /// Lines upward from the ticks of the horizontal axis.
    pub(crate) fn draw_columns(&self, canvas: &mut Canvas<'_>) {
        for tick in &self.x.ticks {
            let at = self.x.position(tick.value);
            let ends = [self.area.y, self.area.bottom()].map(|y| Point::new(at, y));
            canvas.line(ends[0], ends[1], grid_pen(tick.value));
        }
    }

    /// Both axes with their names. The vertical one has lines across the plot.
    pub(crate) fn draw_axes(&self, canvas: &mut Canvas<'_>, x_name: &str, y_name: &str) {
        draw_ground(canvas, self.area, &self.y);
        draw_values(canvas, self.area, &self.y);
        let left = self.area.x - self.y.label_width(TICK) - 30.0;
        draw_side_name(canvas, self.area, left, y_name);
        let style = Lettering::new(TICK).centred();
        for tick in self.x.labels_with_room(TICK) {
            let x = self.x.position(tick.value);
            draw_foot(canvas, self.area, x);
            canvas.text(
                Point::new(x, self.area.bottom() + 22.0),
                &tick.label,
                &style,
            );
        }
        let below = Point::new(self.area.centre().x, self.area.bottom() + 46.0);
        canvas.text(below, x_name, &style);
    }
}
