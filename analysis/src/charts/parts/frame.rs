//! The words around a picture: headings above, small print below. Long text is wrapped, never clipped.

use crate::charts::{
    draw::{self, Canvas, FAINT_INK, Lettering, Rect, fitting, grey, wrap},
    view::Picture,
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

pub(crate) const BODY_WIDTH: f64 = WIDTH - 2.0 * MARGIN;

struct Paragraph {
    lines: Vec<String>,
    style: Lettering,
}

impl Paragraph {
    fn new(text: &str, style: Lettering) -> Paragraph {
        Paragraph {
            lines: wrap(text, BODY_WIDTH, style.size, style.bold),
            style,
        }
    }

    fn height(&self) -> f64 {
        self.lines.len() as f64 * LINE * self.style.size
    }

    fn draw(&self, canvas: &mut Canvas, top: f64) {
        let mut bottom = top;
        for line in &self.lines {
            canvas.text((MARGIN, bottom + self.style.size), line, &self.style);
            bottom += LINE * self.style.size;
        }
    }
}

pub(crate) fn svg(picture: &dyn Picture) -> String {
    let caption = picture.caption();
    let title = Paragraph::new(&caption.title, Lettering::new(TITLE).bold());
    let subtitle = Paragraph::new(&caption.subtitle, Lettering::new(SUBTITLE));
    let faint = Lettering::new(SMALL_PRINT).colour(FAINT_INK);
    let small_print = Paragraph::new(&caption.small_print, faint);
    // A whole number, so that lines on whole pixels of the body stay sharp.
    let top = (title.height() + subtitle.height() + BEFORE_BODY).ceil() + MARGIN;
    let body = Rect::new(MARGIN, top, BODY_WIDTH, picture.body_height());
    let below = body.bottom() + AFTER_BODY;
    let height = (below + small_print.height() + MARGIN / 2.0).ceil();
    draw::svg((WIDTH as u32, height as u32), |canvas| {
        canvas.fill(Rect::new(0.0, 0.0, WIDTH, height), grey(255));
        title.draw(canvas, MARGIN);
        subtitle.draw(canvas, MARGIN + title.height());
        small_print.draw(canvas, below);
        picture.draw_body(canvas, body);
    })
}

pub(crate) fn draw_heading(canvas: &mut Canvas, above: Rect, text: &str) {
    let size = fitting([text], above.width, HEADING, true);
    let at = (above.x, above.y - 12.0);
    canvas.text(at, text, &Lettering::new(size).bold());
}
