//! Checks that no text of a picture overlaps another or leaves the picture, for many numbers of rows, columns and payloads.

use resvg::tiny_skia::Pixmap;

use super::canvas::Rect;
use super::lettering::Lettering;
use super::picture::png;
use super::{
    Axis, Categories, ChartFormat, ChartValue, ColourScale, Colours, Facet, Heatmap, HeatmapCell,
    LineChart, LineChartPanel, NoValue, Picture,
};
use crate::stats::Interval;

#[rustfmt::skip]
const LABELS: [&str; 8] = [
    "none (A/A)", "connection=128", "400", "50", "muxer=1/deferred", "muxer=50us/deferred", "connection+muxer=coop",
    "5",
];

fn categories(number: usize) -> Categories {
    Categories {
        name: "payload of the request and of the response".to_owned(),
        labels: LABELS[..number].iter().map(ToString::to_string).collect(),
    }
}

fn picture(body: impl super::Body + 'static) -> Picture {
    Picture {
        title: "A budget of 2 in the muxer, with a deferred wake, against none".to_owned(),
        subtitle: "share of polls over 50 µs; small: 95 % interval over runs and blocks".to_owned(),
        small_print: "run 2026-11-20T16-40-02Z · Linux 6.18 · sha256:0123456789abcdef ".repeat(5),
        body: Box::new(body),
    }
}

fn within(value: f64, low: f64, high: f64) -> ChartValue {
    let (low, high) = (low * value, high * value);
    ChartValue::new(value, Some(Interval { low, high }))
}

fn value(value: f64) -> ChartValue {
    within(value, 0.92, 1.08)
}

/// A heatmap with values of every kind: with one and with four digits, exact, zero, negative, with lopsided intervals, and
/// absent.
fn heatmap(rows: usize, columns: usize, facets: usize) -> Picture {
    let cell = |row: usize, column: usize| HeatmapCell {
        value: match 3 * row + column {
            1 => Err(NoValue::Failed),
            4 => Err(NoValue::Invalid),
            6 => Err(NoValue::Missing),
            2 => Err(NoValue::NotApplicable),
            0 => Ok(value(0.0)),
            5 => Ok(ChartValue::exact(11.1)),
            place if row == 1 => Ok(within(2.6 * place as f64, 0.9, 1.25)),
            place if place % 2 == 0 => Ok(value(-0.37 * place as f64)),
            place => Ok(value(2.6 * place as f64)),
        },
        is_resolved: column != 3,
    };
    let row = |row: usize| (0..columns).map(|column| cell(row, column)).collect();
    let facet = |number: usize| Facet {
        title: "256 KiB: muxer=2, deferred".to_owned(),
        scale: number % 2,
        cells: (0..rows).map(row).collect(),
    };
    let scale = |name, colours| ColourScale::new(name, "%", colours, [62.0].into_iter());
    picture(Heatmap {
        rows: Categories::new("peers", (0..rows).map(|row| 5 * row)),
        columns: Categories::new("RTT, ms", (0..columns).map(|column| 25 * column)),
        facets: (0..facets).map(facet).collect(),
        across: facets.clamp(1, 3),
        scales: vec![
            scale("slow polls of the task", Colours::Sequential),
            scale("difference", Colours::LowerIsBetter),
        ],
    })
}

/// A line chart with a missing value and an interval that is too wide for the axis in each panel.
fn lines(series: usize, panels: usize) -> Picture {
    let line = |level: usize| {
        let usual = 110.0 * (level + 1) as f64;
        let values = (0..LABELS.len()).map(|place| match (level, place) {
            (0, 6) => Some(within(usual, -9.0, 9.0)),
            _ => (level + place != 2).then(|| value(usual)),
        });
        values.collect()
    };
    let panel = |number: usize| LineChartPanel {
        name: "change of wake-up latency of another task, %".to_owned(),
        axis: [Axis::FromZero, Axis::TwoDecades, Axis::Free][number],
        lines: (0..series).map(line).collect(),
    };
    picture(LineChart {
        is_apart: true,
        series: LABELS[..series].iter().map(ToString::to_string).collect(),
        positions: categories(LABELS.len()),
        panels: (0..panels).map(panel).collect(),
    })
}

/// The value of an attribute of the first element.
fn attribute<'s>(svg: &'s str, name: &str) -> Option<&'s str> {
    let (_, value) = svg.split('>').next()?.split_once(&format!(" {name}=\""))?;
    value.split('"').next()
}

fn number(svg: &str, name: &str) -> f64 {
    attribute(svg, name)
        .and_then(|text| text.parse().ok())
        .expect(name)
}

/// The places of all texts, from the top of digits to the bottom of a "g".
fn texts(svg: &str) -> Vec<(String, Rect)> {
    let text = |element: &str| {
        let content = element.split_once('>').expect("its content").1;
        let text = content
            .split("</text>")
            .next()
            .unwrap_or_default()
            .trim()
            .replace("&lt;", "<")
            .replace("&gt;", ">");
        let size = number(element, "font-size");
        assert!(size >= 8.0, "{text} has {size} px");
        let lettering = Lettering::new(size).bold(attribute(element, "font-weight").is_some());
        let width = lettering.width_of(&text);
        let before = match attribute(element, "text-anchor") {
            Some("middle") => width / 2.0,
            Some("end") => width,
            _ => 0.0,
        };
        let (x, y) = (number(element, "x") - before, number(element, "y"));
        (text, Rect::new(x, y + 0.02 * size, width, 0.95 * size))
    };
    svg.split("<text").skip(1).map(text).collect()
}

fn assert_laid_out(picture: &Picture) {
    let svg = picture.svg();
    let (right, bottom) = (number(&svg, "width") - 4.0, number(&svg, "height") - 4.0);
    let texts = texts(&svg);
    for (index, (text, place)) in texts.iter().enumerate() {
        let is_inside =
            place.x >= 4.0 && place.y >= 4.0 && place.right() <= right && place.bottom() <= bottom;
        assert!(is_inside, "{text} leaves the picture: {place:?}");
        for (other, taken) in &texts[..index] {
            let width = place.right().min(taken.right()) - place.x.max(taken.x);
            let height = place.bottom().min(taken.bottom()) - place.y.max(taken.y);
            // Letters stand on whole pixels.
            let most = 1.0 + place.width.min(taken.width);
            assert!(
                width.max(0.0) * height.max(0.0) <= most,
                "{text} overlaps {other}"
            );
        }
    }
}

#[test]
fn texts_stay_apart_and_inside() {
    for (rows, columns) in [(5, 4), (5, 6), (1, 1), (0, 0), (2, 0)] {
        for facets in [1, 2, 3, 4, 6] {
            assert_laid_out(&heatmap(rows, columns, facets));
        }
    }
    for (series, panels) in [(1, 2), (3, 3), (3, 1), (3, 0)] {
        assert_laid_out(&lines(series, panels));
    }
}

#[test]
fn pixels_have_the_size_of_the_picture_and_white_edges() {
    let svg = heatmap(5, 4, 4).svg();
    let bytes = ChartFormat::Png.encoded(&svg).expect("pixels");
    assert_eq!(bytes, png(&svg).expect("pixels"));
    let pixels = Pixmap::decode_png(&bytes).expect("a PNG");
    let (width, height) = (pixels.width(), pixels.height());
    assert_eq!(
        (f64::from(width), f64::from(height)),
        (number(&svg, "width"), number(&svg, "height"))
    );
    let is_white = |x, y| {
        pixels.pixel(x, y).is_some_and(|pixel| {
            [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()] == [255; 4]
        })
    };
    assert!((0..width).all(|x| is_white(x, 3) && is_white(x, height - 4)));
    assert!((0..height).all(|y| is_white(3, y) && is_white(width - 4, y)));
    let title = (28..60).flat_map(|y| (28..300).map(move |x| (x, y)));
    assert!(
        title.filter(|(x, y)| !is_white(*x, *y)).count() > 300,
        "there are no letters"
    );
}

#[test]
fn the_longer_the_words_the_taller_the_picture() {
    let mut picture = lines(1, 2);
    let before = number(&picture.svg(), "height");
    picture.title = "What every budget gains and costs ".repeat(4);
    picture.subtitle = "with a subtitle that does not fit into a line either ".repeat(3);
    assert!(number(&picture.svg(), "height") > before + 50.0);
    assert_laid_out(&picture);
}
