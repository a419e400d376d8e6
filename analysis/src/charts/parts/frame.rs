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
    let mut nothing = Canvas::default();
    let body = headings(&mut nothing, picture.caption());
    let below = body + picture.body_height() + AFTER_BODY;
    let bottom = small_print(&mut nothing, below, picture.caption());
    (WIDTH as u32, (bottom + MARGIN / 2.0).ceil() as u32)
}

pub(crate) fn draw(picture: &dyn Picture) -> Canvas {
    let mut canvas = Canvas::default();
    let (width, height) = size(picture);
    let page = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
    canvas.fill(page, grey(255));
    let top = headings(&mut canvas, picture.caption());
    let body = Rect::new(MARGIN, top, BODY_WIDTH, picture.body_height());
    small_print(&mut canvas, body.bottom() + AFTER_BODY, picture.caption());
    picture.draw_body(&mut canvas, body);
    canvas
}

/// Returns where the body begins.
fn headings(canvas: &mut Canvas, caption: &Caption) -> f64 {
    let title = Lettering::new(TITLE).bold();
    let below = paragraph(canvas, MARGIN, &caption.title, &title);
    let below = paragraph(canvas, below, &caption.subtitle, &Lettering::new(SUBTITLE));
    // A whole number, so that lines on whole pixels of the body stay sharp.
    (below + BEFORE_BODY).ceil()
}

fn small_print(canvas: &mut Canvas, top: f64, caption: &Caption) -> f64 {
    let style = Lettering::new(SMALL_PRINT).colour(FAINT_INK);
    paragraph(canvas, top, &caption.small_print, &style)
}

/// Returns where the next one begins.
fn paragraph(canvas: &mut Canvas, top: f64, text: &str, style: &Lettering) -> f64 {
    let mut bottom = top;
    for line in wrap(text, BODY_WIDTH, style.size, style.bold) {
        canvas.text(Point::new(MARGIN, bottom + style.size), &line, style);
        bottom += LINE * style.size;
    }
    bottom
}

/// The title above a part of the picture.
pub(crate) fn draw_heading(canvas: &mut Canvas, above: Rect, text: &str) {
    let size = fitting([text], above.width, HEADING, true);
    let at = Point::new(above.x, above.y - 12.0);
    canvas.text(at, text, &Lettering::new(size).bold());
}
