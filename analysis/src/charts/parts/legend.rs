//! What lines, bands and patches mean, in as many rows as it takes.

use crate::charts::{
    draw::{
        Canvas, Colour, Lettering, Mark, Pen, Point, Rect, SeriesStyle, draw_mark, fitting, grey,
        width_of,
    },
    parts::{frame::LABEL, status::Status},
    view::Series,
};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Sample {
    Line(SeriesStyle),
    /// A marker alone.
    Mark(Mark, Colour),
    Patch(Colour),
    Status(Status),
    /// A line in the middle of its interval.
    Band(Colour),
    Rule(Pen),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Legend(Vec<(Sample, String)>);

const SAMPLE_HEIGHT: f64 = 20.0;
const TO_TEXT: f64 = 9.0;
const TO_NEXT: f64 = 26.0;
const ROW: f64 = 30.0;

impl Legend {
    pub(crate) fn of_series(series: &[Series]) -> Self {
        let line = |one: &Series| (Sample::Line(SeriesStyle::of(one.slot)), one.name.clone());
        Self(series.iter().map(line).collect())
    }

    /// For lines without markers.
    pub(crate) fn of_curves(series: &[Series]) -> Self {
        let rule = |one: &Series| {
            (
                Sample::Rule(SeriesStyle::of(one.slot).pen),
                one.name.clone(),
            )
        };
        Self(series.iter().map(rule).collect())
    }

    pub(crate) fn with(mut self, sample: Sample, meaning: &str) -> Self {
        self.0.push((sample, meaning.to_owned()));
        self
    }

    pub(crate) fn with_statuses(self, statuses: &[Status]) -> Self {
        statuses.iter().fold(self, |legend, status| {
            legend.with(Sample::Status(*status), status.meaning())
        })
    }

    pub(crate) fn height(&self, width: f64) -> f64 {
        self.places(width).last().map_or(0.0, |place| place.y + ROW)
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) {
        for ((sample, meaning), place) in self.0.iter().zip(self.places(area.width)) {
            let middle = area.y + place.y + ROW / 2.0;
            let (x, width) = (area.x + place.x, sample.width());
            let text_x = x + width + TO_TEXT;
            sample.draw(
                canvas,
                Rect::new(x, middle - SAMPLE_HEIGHT / 2.0, width, SAMPLE_HEIGHT),
            );
            let room = area.right() - text_x;
            let size = fitting([meaning.as_str()], room, LABEL, false);
            canvas.text_across(Point::new(text_x, middle), meaning, &Lettering::new(size));
        }
    }

    /// Where each entry begins, from the upper left of the legend.
    fn places(&self, width: f64) -> Vec<Point> {
        let mut next = Point::new(0.0, 0.0);
        let mut places = Vec::new();
        for (sample, meaning) in &self.0 {
            let entry = sample.width() + TO_TEXT + width_of(meaning, LABEL, false);
            if next.x > 0.0 && next.x + entry > width {
                next = Point::new(0.0, next.y + ROW);
            }
            places.push(next);
            next.x += entry + TO_NEXT;
        }
        places
    }
}

impl Sample {
    /// Dashes need some length to be told apart.
    fn width(self) -> f64 {
        match self {
            Sample::Line(_) | Sample::Rule(_) | Sample::Band(_) => 46.0,
            Sample::Patch(_) | Sample::Status(_) => 32.0,
            Sample::Mark(..) => 18.0,
        }
    }

    fn draw(self, canvas: &mut Canvas<'_>, area: Rect) {
        let middle = area.centre();
        let (left, right) = (
            Point::new(area.x, middle.y),
            Point::new(area.right(), middle.y),
        );
        match self {
            Sample::Line(style) => {
                canvas.line(left, right, style.pen);
                draw_mark(canvas, middle, style.mark, style.pen.colour);
            }
            Sample::Mark(mark, colour) => draw_mark(canvas, middle, mark, colour),
            Sample::Patch(colour) => {
                canvas.fill(area, colour);
                canvas.outline(area, Pen::new(grey(0x80), 1.0));
            }
            Sample::Status(status) => {
                status.pattern(canvas, area);
                canvas.outline(area, Pen::new(grey(0x80), 1.0));
            }
            Sample::Band(colour) => {
                canvas.shade(area, colour, BAND_OPACITY);
                canvas.line(left, right, Pen::new(colour, 2.0));
            }
            Sample::Rule(pen) => canvas.line(left, right, pen),
        }
    }
}

pub(crate) const BAND_OPACITY: f64 = 0.16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_within_the_width_and_apart() {
        let series: Vec<Series> = (0..9)
            .map(|slot| Series {
                name: format!("muxer={slot}, deferred"),
                slot,
            })
            .collect();
        let legend = Legend::of_series(&series);
        let places = legend.places(700.0);
        let entry = legend.0[0].0.width() + TO_TEXT + width_of(&series[0].name, LABEL, false);
        assert!(places.iter().all(|place| place.x + entry <= 700.0));
        assert!(
            places
                .windows(2)
                .all(|two| two[1].y > two[0].y || two[1].x >= two[0].x + entry)
        );
        assert!(legend.height(700.0) > ROW);
        assert_eq!(Legend::default().height(700.0), 0.0);
    }
}
