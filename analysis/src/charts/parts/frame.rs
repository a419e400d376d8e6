//! The words around a picture: headings above, small print below. Long text is wrapped, never clipped.

use crate::charts::{
    draw::{Canvas, FAINT_INK, Lettering, Point, Rect, fitting, grey, wrap},
    view::{Caption, Picture},
};

pub(crate) const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 28.0;

/// Text sizes; GitHub shows a picture at about two thirds of its size.
pub(crate) const LABEL: f64 = 18.0;
pub(crate) const TICK: f64 = 17.0;
const HEADING: f64 = 19.0;
const TITLE: f64 = 27.0;
const SUBTITLE: f64 = 20.0;
const SMALL_PRINT: f64 = 15.0;

const LINE: f64 = 1.3;
const BEFORE_BODY: f64 = 16.0;
const AFTER_BODY: f64 = 14.0;

/// The width between the margins.
pub(crate) const BODY_WIDTH: f64 = WIDTH - 2.0 * MARGIN;

/// In pixels of the PNG.
pub(crate) fn size(picture: &dyn Picture) -> (u32, u32) {
    let caption = picture.caption();
    let height = header_height(caption) + picture.body_height() + footer_height(caption);
    (WIDTH as u32, height.ceil() as u32)
}

pub(crate) fn draw(canvas: &mut Canvas<'_>, picture: &dyn Picture) {
    let (width, height) = size(picture);
    let page = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
    canvas.fill(page, grey(255));
    let caption = picture.caption();
    let mut y = MARGIN;
    for (text, style) in headings(caption) {
        y = paragraph(canvas, y, text, &style);
    }
    let (top, height) = (header_height(caption), picture.body_height());
    let body = Rect::new(MARGIN, top, BODY_WIDTH, height);
    let small_print = Lettering::new(SMALL_PRINT).colour(FAINT_INK);
    let below = body.bottom() + AFTER_BODY;
    paragraph(canvas, below, &caption.small_print, &small_print);
    picture.draw_body(canvas, body);
}

/// The title above a part of the picture.
pub(crate) fn draw_heading(canvas: &mut Canvas<'_>, above: Rect, text: &str) {
    let size = fitting([text], above.width, HEADING, true);
    let at = Point::new(above.x, above.y - 12.0);
    canvas.text(at, text, &Lettering::new(size).bold());
}

fn headings(caption: &Caption) -> [(&str, Lettering); 2] {
    [
        (&caption.title, Lettering::new(TITLE).bold()),
        (&caption.subtitle, Lettering::new(SUBTITLE)),
    ]
}

/// Returns where the next one begins.
fn paragraph(canvas: &mut Canvas<'_>, top: f64, text: &str, style: &Lettering) -> f64 {
    let mut bottom = top;
    for line in wrap(text, BODY_WIDTH, style.size, style.bold) {
        canvas.text(Point::new(MARGIN, bottom + style.size), &line, style);
        bottom += LINE * style.size;
    }
    bottom
}

fn header_height(caption: &Caption) -> f64 {
    let text: f64 = headings(caption)
        .iter()
        .map(|(text, style)| paragraph_height(text, style))
        .sum();
    // A whole number, so that lines on whole pixels of the body stay sharp.
    (MARGIN + text + BEFORE_BODY).ceil()
}

fn footer_height(caption: &Caption) -> f64 {
    AFTER_BODY + paragraph_height(&caption.small_print, &Lettering::new(SMALL_PRINT)) + MARGIN / 2.0
}

fn paragraph_height(text: &str, style: &Lettering) -> f64 {
    wrap(text, BODY_WIDTH, style.size, style.bold).len() as f64 * LINE * style.size
}
