//! Bars of 100 %, each divided into its shares, in groups.

use super::{
    draw::{
        Canvas, Colour, FAINT_INK, Lettering, Rect, area_colour, contrasting, grey, widest,
        width_of,
    },
    parts::{
        frame::{LABEL, TICK},
        legend::{Legend, LegendKey},
    },
    view::{Caption, Picture},
};
use crate::text::fixed;

#[derive(Clone, Debug)]
pub(crate) struct Stacks {
    pub(crate) caption: Caption,
    /// The meaning of a segment's length, with its unit: "share of poll time, %".
    pub(crate) axis: String,
    pub(crate) segments: Vec<String>,
    pub(crate) groups: Vec<BarGroup>,
}

#[derive(Clone, Debug)]
pub(crate) struct BarGroup {
    pub(crate) name: String,
    /// From top to bottom: their names and, in percent, their segments. None for a bar without data.
    pub(crate) bars: Vec<(&'static str, Option<Vec<f64>>)>,
}

const BAR_HEIGHT: f64 = 32.0;
const BETWEEN_BARS: f64 = 7.0;
const BETWEEN_GROUPS: f64 = 24.0;
const AXIS_HEIGHT: f64 = 60.0;
const GAP: f64 = 14.0;

impl Picture for Stacks {
    fn caption(&self) -> &Caption {
        &self.caption
    }

    fn body_height(&self) -> f64 {
        self.bars_height() + AXIS_HEIGHT + self.legend().height()
    }

    fn draw_body(&self, canvas: &mut Canvas, body: Rect) {
        let bars = || self.groups.iter().flat_map(|group| &group.bars);
        let groups_width = widest(
            self.groups.iter().map(|group| group.name.as_str()),
            LABEL,
            true,
        );
        let bars_width = widest(bars().map(|(name, _)| *name), TICK, false);
        let left = groups_width + GAP + bars_width + GAP;
        let plot = body.with_height(self.bars_height()).right_of(left);
        let plot = plot.with_width(plot.width - GAP);
        self.draw_axis(canvas, plot);
        let mut y = plot.y;
        for group in &self.groups {
            let height = group_height(group);
            let middle = (body.x, y + height / 2.0);
            canvas.text_across(middle, &group.name, &Lettering::new(LABEL).bold());
            let bars = Rect::new(plot.x, y, plot.width, height);
            for (index, (name, shares)) in group.bars.iter().enumerate() {
                let place = bars.row(index, group.bars.len(), BETWEEN_BARS);
                let before = (place.x - GAP, place.centre().1);
                canvas.text_across(before, name, &Lettering::new(TICK).right());
                draw_bar(canvas, shares.as_deref(), place);
            }
            y += height + BETWEEN_GROUPS;
        }
        self.legend()
            .draw(canvas, body.below(self.bars_height() + AXIS_HEIGHT));
    }
}

impl Stacks {
    fn draw_axis(&self, canvas: &mut Canvas, plot: Rect) {
        for part in 0..=5 {
            let x = plot.x + plot.width * f64::from(part) / 5.0;
            let foot = plot.bottom() + 8.0;
            canvas.line((x, plot.y), (x, foot), grey(0xd8), 1);
            let label = format!("{}", part * 20);
            canvas.text((x, foot + 18.0), &label, &Lettering::new(TICK).centred());
        }
        let at = (plot.centre().0, plot.bottom() + 48.0);
        canvas.text(at, &self.axis, &Lettering::new(TICK).centred());
    }

    fn legend(&self) -> Legend {
        let segments = self.segments.iter().enumerate();
        let entry =
            |(index, name): (usize, &String)| (LegendKey::Patch(area_colour(index)), name.clone());
        Legend(segments.map(entry).collect())
    }

    fn bars_height(&self) -> f64 {
        let bars: f64 = self.groups.iter().map(group_height).sum();
        bars + BETWEEN_GROUPS * (self.groups.len() as f64 - 1.0).max(0.0)
    }
}

fn group_height(group: &BarGroup) -> f64 {
    let count = group.bars.len() as f64;
    count * BAR_HEIGHT + (count - 1.0).max(0.0) * BETWEEN_BARS
}

fn draw_bar(canvas: &mut Canvas, shares: Option<&[f64]>, place: Rect) {
    let Some(shares) = shares else {
        canvas.outline(place, grey(0x90));
        let at = (place.x + 10.0, place.centre().1);
        let style = Lettering::new(TICK).colour(FAINT_INK);
        return canvas.text_across(at, "no such polls", &style);
    };
    let mut left = 0.0;
    for (index, share) in shares.iter().enumerate() {
        let width = place.width * share / 100.0;
        let segment = place.right_of(left).with_width(width);
        draw_segment(canvas, segment, *share, area_colour(index));
        left += width;
    }
}

fn draw_segment(canvas: &mut Canvas, segment: Rect, share: f64, colour: Colour) {
    canvas.fill(segment, colour);
    if segment.width > 3.0 {
        canvas.fill(segment.right_of(segment.width - 1.0), grey(255));
    }
    let number = fixed(share, usize::from(share < 9.95));
    let with_sign = format!("{number} %");
    let room = segment.width - 8.0;
    let fits = |text: &&String| width_of(text, TICK, false) <= room;
    if let Some(text) = [&with_sign, &number].into_iter().find(fits) {
        let style = Lettering::new(TICK).colour(contrasting(colour)).centred();
        canvas.text_across(segment.centre(), text, &style);
    }
}
