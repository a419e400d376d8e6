//! Values at named positions, joined by lines. All panels have the same series and stand below each other.

use plotters::coord::ranged1d::{BoldPoints, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::style::RGBColor;
use plotters::style::text_anchor::HPos;

use super::canvas::{Canvas, Point, Rect};
use super::colour::{Colour, grey};
use super::lettering::Lettering;
use super::picture::{Body, TICK, draw_heading, draw_legend};
use super::values::{Categories, ChartValue};
use crate::stats::{Interval, Spread};
use crate::text::{decimals_for, fixed, short};

pub(crate) struct LineChart {
    /// The names of the series.
    pub(crate) series: Vec<String>,
    pub(crate) positions: Categories,
    /// Whether the series stand beside each other at a position, so that their bars stay apart.
    pub(crate) is_apart: bool,
    pub(crate) panels: Vec<LineChartPanel>,
}

pub(crate) struct LineChartPanel {
    /// The name of the numbers, with their unit.
    pub(crate) name: String,
    pub(crate) axis: Axis,
    /// The values of each series, by position.
    pub(crate) lines: Vec<Vec<Option<ChartValue>>>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Axis {
    /// An axis from the least value to the greatest.
    Free,
    /// An axis that includes zero.
    FromZero,
    /// A logarithmic axis over two decades below the greatest value. Smaller values are not drawn.
    TwoDecades,
}

/// The height of a panel with the name above it.
const PANEL_HEIGHT: f64 = 250.0;
const NAME_HEIGHT: f64 = 48.0;
const TO_LABEL: f64 = 9.0;
/// Labels that would be smaller than this are broken into several lines.
const SMALLEST_LABEL: f64 = 14.0;
const FURTHEST_APART: f64 = 16.0;
/// Half the width of the ends of a bar.
const CAP: f64 = 5.0;
const ARROW: f64 = 9.0;
/// Beside fewer other values, an interval is drawn whole, however wide it is.
const FEWEST_OTHERS: usize = 4;

impl Body for LineChart {
    fn draw(&self, canvas: &mut Canvas, area: Rect) -> f64 {
        let plot = |(index, panel): (usize, &LineChartPanel)| {
            let top = area.y + PANEL_HEIGHT * index as f64 + NAME_HEIGHT;
            let area = Rect::new(area.x, top, area.width, PANEL_HEIGHT - NAME_HEIGHT);
            Plot::new(panel, area, self.positions.labels.len())
        };
        let mut plots: Vec<Plot> = self.panels.iter().enumerate().map(plot).collect();
        // All plots begin where the one with the widest numbers does.
        let ticks = plots.iter().flat_map(|plot| &plot.ticks);
        let widest = Lettering::new(TICK).widest(ticks.map(|(_, label)| label));
        for (plot, panel) in plots.iter_mut().zip(&self.panels) {
            draw_heading(canvas, plot.area, &panel.name);
            plot.area = plot.area.right_of(TO_LABEL + widest);
            plot.draw_ground(canvas);
            let apart = if self.is_apart { FURTHEST_APART } else { 0.0 };
            plot.draw_lines(canvas, &panel.lines, apart);
        }
        let Some(lowest) = plots.last() else {
            return area.y;
        };
        let bottom = lowest.draw_positions(canvas, &self.positions);
        let below = area.below(bottom - area.y);
        draw_legend(canvas, below, &self.series, |canvas, index, key| {
            let (colour, y) = (line_colour(index), key.centre().1);
            canvas.line((key.x, y), (key.right(), y), colour, 2);
            draw_mark(canvas, key.centre(), index);
        })
    }
}

struct Plot {
    area: Rect,
    axis: Axis,
    positions: usize,
    low: f64,
    high: f64,
    ticks: Vec<(f64, String)>,
}

impl Plot {
    fn new(panel: &LineChartPanel, area: Rect, positions: usize) -> Plot {
        let shown: Vec<&ChartValue> = panel.lines.iter().flatten().flatten().collect();
        let origin = (panel.axis == Axis::FromZero).then_some(0.0);
        let Interval { low, high } = extent(&shown, origin);
        if panel.axis == Axis::TwoDecades {
            return Plot::with_two_decades(high, area, positions);
        }
        let room = match (high - low, low) {
            (0.0, 0.0) => 1.0,
            (0.0, level) => 0.1 * level.abs(),
            (length, _) => 0.05 * length,
        };
        // If the lowest value is zero, the axis begins there, without room below it.
        let is_from_zero = low == 0.0 && high > 0.0;
        let low = if is_from_zero { low } else { low - room };
        let high = high + room;
        let most = BoldPoints((area.height / 33.0) as usize);
        let ticks = RangedCoordf64::from(low..high).key_points(most);
        let step = ticks.windows(2).next().map_or(1.0, |two| two[1] - two[0]);
        let decimals = decimals_for(step, 1);
        let label = |tick: f64| (tick, fixed(tick, decimals));
        Plot {
            area,
            axis: panel.axis,
            positions: positions.max(1),
            low,
            high,
            ticks: ticks.into_iter().map(label).collect(),
        }
    }

    fn with_two_decades(high: f64, area: Rect, positions: usize) -> Plot {
        let greatest = if high > 0.0 { high } else { 1.0 };
        let (low, high) = (greatest / 100.0, 1.2 * greatest);
        let decade = 10f64.powf(high.log10().floor());
        let round = [5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01].map(|part| part * decade);
        let ticks = round.into_iter().filter(|tick| (low..=high).contains(tick));
        Plot {
            area,
            axis: Axis::TwoDecades,
            positions: positions.max(1),
            low,
            high,
            ticks: ticks
                .map(|tick| (tick, fixed(tick, decimals_for(tick, 1))))
                .collect(),
        }
    }

    /// Draws lines at the ticks, a stronger line at zero, and the edges at the left and below.
    fn draw_ground(&self, canvas: &mut Canvas) {
        let (left, right, bottom) = (self.area.x, self.area.right(), self.area.bottom());
        let style = Lettering::new(TICK).aligned(HPos::Right);
        for (value, label) in &self.ticks {
            let y = self.y(*value);
            let colour = grey(if value.abs() < 1e-9 { 0x90 } else { 0xe2 });
            canvas.line((left, y), (right, y), colour, 1);
            canvas.text((left - TO_LABEL, y), label, &style);
        }
        let edge = grey(0x60);
        canvas.line((left, self.area.y), (left, bottom), edge, 1);
        canvas.line((left, bottom), (right, bottom), edge, 1);
        for position in 0..self.positions {
            let x = self.x(position);
            canvas.line((x, bottom), (x, bottom + 5.0), edge, 1);
        }
    }

    fn draw_lines(
        &self,
        canvas: &mut Canvas,
        lines: &[Vec<Option<ChartValue>>],
        furthest_apart: f64,
    ) {
        let apart = furthest_apart.min(0.6 * self.pitch() / lines.len().max(1) as f64);
        for (index, line) in lines.iter().enumerate() {
            let aside = apart * (index as f64 - (lines.len() as f64 - 1.0) / 2.0);
            let x = |position: usize| self.x(position) + aside;
            let colour = line_colour(index);
            let is_drawn =
                |value: &ChartValue| self.axis != Axis::TwoDecades || value.value >= self.low;
            let line: Vec<Option<ChartValue>> =
                line.iter().map(|value| value.filter(is_drawn)).collect();
            for (position, ends) in line.windows(2).enumerate() {
                if let [Some(from), Some(to)] = ends {
                    let from = (x(position), self.y(from.value));
                    canvas.line(from, (x(position + 1), self.y(to.value)), colour, 2);
                }
            }
            for (position, value) in (0..).zip(&line) {
                let Some(value) = value else { continue };
                if let Some(interval) = value.interval {
                    self.draw_bar(canvas, x(position), interval, colour);
                }
                draw_mark(canvas, (x(position), self.y(value.value)), index);
            }
        }
    }

    /// Draws an interval. An end outside of the plot has an arrow and its number.
    fn draw_bar(&self, canvas: &mut Canvas, x: f64, interval: Interval, colour: Colour) {
        let (top, bottom) = (self.area.y, self.area.bottom());
        let [low, high] = [interval.low, interval.high].map(|end| self.y(end));
        canvas.line((x, low.min(bottom)), (x, high.max(top)), colour, 2);
        for (end, y) in [(interval.low, low), (interval.high, high)] {
            if (top..=bottom).contains(&y) {
                canvas.line((x - CAP, y), (x + CAP, y), colour, 2);
                continue;
            }
            let (edge, to_tip) = match y < top {
                true => (top, -ARROW),
                false => (bottom, ARROW),
            };
            let base = edge - to_tip;
            canvas.polygon([(x, edge), (x - CAP, base), (x + CAP, base)], colour);
            let is_right = x > self.area.centre().0;
            let (align, aside) = match is_right {
                true => (HPos::Right, -TO_LABEL),
                false => (HPos::Left, TO_LABEL),
            };
            let style = Lettering::new(SMALLEST_LABEL).colour(colour);
            canvas.text((x + aside, base), &short(end), &style.aligned(align));
        }
    }

    /// Returns how far down the labels and their name reach.
    fn draw_positions(&self, canvas: &mut Canvas, positions: &Categories) -> f64 {
        let labels = &positions.labels;
        let named = labels.iter().filter(|label| !label.is_empty()).count();
        let width = self.pitch() * (labels.len() / named.max(1)) as f64 - 6.0;
        let style = Lettering::new(TICK).aligned(HPos::Center);
        let mut small = style.fitting(labels, width);
        small.size = small.size.max(SMALLEST_LABEL);
        let top = self.area.bottom() + 16.0;
        let mut bottom = top;
        for (position, label) in labels.iter().enumerate() {
            let mut y = top;
            for text in small.wrap(label, width) {
                canvas.text((self.x(position), y), &text, &small);
                bottom = y.max(bottom);
                y += 1.2 * small.size;
            }
        }
        let fitting = style.fitting([&positions.name], self.area.width);
        canvas.text(
            (self.area.centre().0, bottom + 24.0),
            &positions.name,
            &fitting,
        );
        bottom + 40.0
    }

    fn x(&self, position: usize) -> f64 {
        self.area.x + (position as f64 + 0.5) * self.pitch()
    }

    fn y(&self, value: f64) -> f64 {
        let part = match self.axis {
            Axis::TwoDecades => (value / self.low).log10() / (self.high / self.low).log10(),
            _ => (value - self.low) / (self.high - self.low),
        };
        self.area.bottom() - part * self.area.height
    }

    fn pitch(&self) -> f64 {
        self.area.width / self.positions as f64
    }
}

/// The ends of an axis that shows all values and intervals, and the origin if it has one. If a single interval would make the
/// axis more than twice as long, the axis shows only its value, since nobody could read the others beside it.
fn extent(shown: &[&ChartValue], origin: Option<f64>) -> Interval {
    let ends = |without: Option<usize>| {
        let numbered = shown.iter().enumerate();
        let ends = numbered.flat_map(|(index, value)| {
            let interval = value.interval.filter(|_| Some(index) != without);
            let ends = interval.map(|ends| [ends.low, ends.high]);
            ends.into_iter().flatten().chain([value.value])
        });
        let spread = Spread::over(ends.chain(origin));
        spread.map_or(Interval::new(0.0, 1.0), |spread| {
            Interval::new(spread.least, spread.greatest)
        })
    };
    let length = |Interval { low, high }: Interval| high - low;
    let with_interval = shown.iter().enumerate();
    let with_interval = with_interval.filter_map(|(index, value)| Some((index, value.interval?)));
    let widest = with_interval.max_by(|(_, a), (_, b)| length(*a).total_cmp(&length(*b)));
    let (all, others) = (ends(None), ends(widest.map(|(index, _)| index)));
    match length(all) > 2.0 * length(others) && shown.len() > FEWEST_OTHERS {
        true => others,
        false => all,
    }
}

/// Okabe and Ito's colours without yellow, which is too light for a line.
fn line_colour(series: usize) -> Colour {
    const COLOURS: [Colour; 7] = [
        RGBColor(0x00, 0x72, 0xb2),
        RGBColor(0xd5, 0x5e, 0x00),
        RGBColor(0x00, 0x9e, 0x73),
        RGBColor(0xcc, 0x79, 0xa7),
        RGBColor(0x00, 0x00, 0x00),
        RGBColor(0xe6, 0x9f, 0x00),
        RGBColor(0x56, 0xb4, 0xe9),
    ];
    COLOURS[series % COLOURS.len()]
}

/// Draws the mark of a series. A reader who sees no colours tells lines apart by their marks. There are seven colours and four
/// marks, so only every 28th series looks the same. All marks look about equally large.
fn draw_mark(canvas: &mut Canvas, centre: Point, series: usize) {
    const SQUARE: &[Point] = &[(-5.0, -5.0), (6.0, -5.0), (6.0, 6.0), (-5.0, 6.0)];
    const TRIANGLE: &[Point] = &[(0.0, -8.0), (7.0, 5.0), (-7.0, 5.0)];
    const DIAMOND: &[Point] = &[(0.0, -8.0), (7.0, 0.0), (0.0, 8.0), (-7.0, 0.0)];
    let colour = line_colour(series);
    let corners = match series % 4 {
        0 => return canvas.dot(centre, 6, colour),
        1 => SQUARE,
        2 => TRIANGLE,
        _ => DIAMOND,
    };
    let moved = corners.iter().map(|(x, y)| (centre.0 + x, centre.1 + y));
    canvas.polygon(moved, colour);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(values: &[f64]) -> Plot {
        let values = values.iter().map(|value| Some(ChartValue::exact(*value)));
        let panel = LineChartPanel {
            name: String::new(),
            axis: Axis::Free,
            lines: vec![values.collect()],
        };
        Plot::new(&panel, Rect::new(0.0, 0.0, 100.0, 200.0), 1)
    }

    #[test]
    fn ticks_are_round_and_no_value_is_outside() {
        let labels = |values: &[f64]| -> Vec<String> {
            let ticks = plot(values).ticks.into_iter();
            ticks.map(|(_, label)| label).collect()
        };
        assert_eq!(labels(&[0.0, 13.6]), ["0", "5", "10"]);
        assert_eq!(labels(&[-0.04, 0.11]), ["0.00", "0.05", "0.10"]);
        let [low, high] = [0.3, 13.6].map(|value| plot(&[0.3, 13.6]).y(value));
        assert!(0.0 < high && high < low && low < 200.0);
    }

    #[test]
    fn a_single_value_is_not_on_the_edge() {
        for value in [0.0, 5.0, -3.0] {
            let plot = plot(&[value]);
            assert!((1.0..199.0).contains(&plot.y(value)) && !plot.ticks.is_empty());
        }
    }

    #[test]
    fn one_wide_interval_does_not_set_the_scale() {
        let within = |value: f64, half: f64| {
            let ends = Interval::new(value - half, value + half);
            ChartValue::new(value, Some(ends))
        };
        let mut values: Vec<ChartValue> = (0..6)
            .map(|position| within(-10.0 * f64::from(position), 5.0))
            .collect();
        let shown = |values: &[ChartValue]| extent(&values.iter().collect::<Vec<_>>(), None);
        assert_eq!(shown(&values), Interval::new(-55.0, 5.0));
        values.push(within(-40.0, 300.0));
        assert_eq!(shown(&values), Interval::new(-55.0, 5.0));
        values.push(within(-30.0, 300.0));
        assert_eq!(shown(&values), Interval::new(-340.0, 270.0));
        let alone = [within(1.0, 2.0), within(3.0, 300.0)];
        assert_eq!(shown(&alone), Interval::new(-297.0, 303.0));
    }

    #[test]
    fn no_end_of_an_interval_is_outside() {
        let ends = Interval {
            low: -3.0,
            high: 9.0,
        };
        let panel = LineChartPanel {
            name: String::new(),
            axis: Axis::FromZero,
            lines: vec![vec![Some(ChartValue::new(2.0, Some(ends)))]],
        };
        let plot = Plot::new(&panel, Rect::new(0.0, 0.0, 100.0, 200.0), 1);
        assert!(plot.low < -3.0 && plot.high > 9.0);
    }
}
