//! A picture has headings, a body and small print. It becomes a file of PNG or SVG.

use anyhow::{Context, Result};
use clap::ValueEnum;
use plotters::backend::SVGBackend;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use serde::{Deserialize, Serialize};

use super::canvas::{Canvas, Rect};
use super::colour::{FAINT_INK, grey};
use super::lettering::Lettering;
use super::outlines::outlined;

/// The sizes of letters. GitHub shows a picture at about two thirds of its size.
const LABEL: f64 = 18.0;
pub(super) const TICK: f64 = 17.0;

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 28.0;
pub(super) const BODY_WIDTH: f64 = WIDTH - 2.0 * MARGIN;

pub(crate) struct Picture {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// The line that identifies the run.
    pub(crate) small_print: String,
    pub(crate) body: Box<dyn Body>,
}

pub(crate) trait Body: Send + Sync {
    /// Draws downwards from the top of an area whose height is not limited. Returns how far down the drawing reaches.
    fn draw(&self, canvas: &mut Canvas, area: Rect) -> f64;
}

impl Picture {
    pub(crate) fn svg(&self) -> String {
        // The height is known only after drawing, so the picture is drawn twice.
        let height = self.drawn(&mut String::new(), 0.0);
        let mut svg = String::new();
        self.drawn(&mut svg, height);
        svg
    }

    fn drawn(&self, svg: &mut String, height: f64) -> f64 {
        let size = (WIDTH as u32, height as u32);
        let mut canvas = Canvas(SVGBackend::with_string(svg, size));
        canvas.fill(Rect::new(0.0, 0.0, WIDTH, height), grey(255));
        let title = Lettering::new(27.0).bold(true);
        let mut y = draw_paragraph(&mut canvas, MARGIN, &self.title, title);
        y = draw_paragraph(&mut canvas, y, &self.subtitle, Lettering::new(20.0));
        // The body begins on a whole pixel, so that its lines stay sharp.
        let body = Rect::new(MARGIN, (y + 16.0).ceil(), BODY_WIDTH, 0.0);
        y = self.body.draw(&mut canvas, body) + 14.0;
        let faint = Lettering::new(15.0).colour(FAINT_INK);
        y = draw_paragraph(&mut canvas, y, &self.small_print, faint);
        (y + MARGIN / 2.0).ceil()
    }
}

/// Draws text, which is wrapped if it is long and never clipped. Returns how far down it reaches.
fn draw_paragraph(canvas: &mut Canvas, top: f64, text: &str, style: Lettering) -> f64 {
    let mut y = top;
    for line in style.wrap(text, BODY_WIDTH) {
        canvas.text((MARGIN, y + 0.635 * style.size), &line, &style);
        y += 1.3 * style.size;
    }
    y
}

pub(super) fn draw_heading(canvas: &mut Canvas, above: Rect, text: &str) {
    let style = Lettering::new(19.0).bold(true);
    let place = (above.x, above.y - 19.0);
    canvas.text(place, text, &style.fitting([text], above.width));
}

const KEY_WIDTH: f64 = 38.0;
const KEY_HEIGHT: f64 = 20.0;
const TO_TEXT: f64 = 9.0;
const TO_NEXT: f64 = 26.0;
const ROW: f64 = 30.0;

/// Explains the keys of a picture, in as many rows as they need. `draw_key` draws the key of the meaning with this index.
/// Returns how far down the legend reaches.
pub(super) fn draw_legend(
    canvas: &mut Canvas,
    area: Rect,
    meanings: &[impl AsRef<str>],
    mut draw_key: impl FnMut(&mut Canvas, usize, Rect),
) -> f64 {
    let style = Lettering::new(LABEL);
    let (mut x, mut bottom) = (area.right(), area.y);
    for (index, meaning) in meanings.iter().enumerate() {
        let width = KEY_WIDTH + TO_TEXT + style.width_of(meaning.as_ref());
        if x + width > area.right() {
            (x, bottom) = (area.x, bottom + ROW);
        }
        let middle = bottom - ROW / 2.0;
        let key = Rect::new(x, middle - KEY_HEIGHT / 2.0, KEY_WIDTH, KEY_HEIGHT);
        draw_key(canvas, index, key);
        let text_x = key.right() + TO_TEXT;
        let fitting = style.fitting([meaning], area.right() - text_x);
        canvas.text((text_x, middle), meaning.as_ref(), &fitting);
        x += width + TO_NEXT;
    }
    bottom
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChartFormat {
    Png,
    Svg,
}

impl ChartFormat {
    pub(crate) fn encoded(self, svg: &str) -> Result<Vec<u8>> {
        match self {
            ChartFormat::Png => png(svg),
            ChartFormat::Svg => Ok(svg.into()),
        }
    }
}

pub(super) fn png(svg: &str) -> Result<Vec<u8>> {
    let tree = Tree::from_str(&outlined(svg)?, &Options::default())
        .context("an SVG that cannot be read")?;
    let size = tree.size().to_int_size();
    let mut pixels =
        Pixmap::new(size.width(), size.height()).context("a picture without pixels")?;
    resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
    pixels.encode_png().context("pixels that are no PNG")
}
