//! The words around a picture: headings above, small print below. Long text is wrapped, never clipped.

use crate::charts::{
    draw::{self, Canvas, FAINT_INK, Lettering, Rect, fitting, grey, wrap},
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

pub(crate) const BODY_WIDTH: f64 = WIDTH - 2.0 * MARGIN;

pub(crate) fn svg(picture: &dyn Picture) -> String {
    let Caption {
        title,
        subtitle,
        small_print,
    } = picture.caption();
    let faint = Lettering::new(SMALL_PRINT).colour(FAINT_INK);
    let styles = [
        Lettering::new(TITLE).bold(),
        Lettering::new(SUBTITLE),
        faint,
    ];
    let texts = [title, subtitle, small_print].into_iter().zip(styles);
    let wrapped = texts.map(|(text, style)| wrap(text, BODY_WIDTH, style.size, style.bold));
    let wrapped: Vec<Vec<String>> = wrapped.collect();
    let heights: Vec<f64> = wrapped
        .iter()
        .zip(styles)
        .map(|(lines, style)| lines.len() as f64 * LINE * style.size)
        .collect();
    // A whole number, so that lines on whole pixels of the body stay sharp.
    let top = (heights[0] + heights[1] + BEFORE_BODY).ceil() + MARGIN;
    let body = Rect::new(MARGIN, top, BODY_WIDTH, picture.body_height());
    let below = body.bottom() + AFTER_BODY;
    let height = (below + heights[2] + MARGIN / 2.0).ceil();
    draw::svg((WIDTH as u32, height as u32), |canvas| {
        canvas.fill(Rect::new(0.0, 0.0, WIDTH, height), grey(255));
        let tops = [MARGIN, MARGIN + heights[0], below];
        for ((mut top, lines), style) in tops.into_iter().zip(&wrapped).zip(&styles) {
            for line in lines {
                canvas.text((MARGIN, top + style.size), line, style);
                top += LINE * style.size;
            }
        }
        picture.draw_body(canvas, body);
    })
}

pub(crate) fn draw_heading(canvas: &mut Canvas, above: Rect, text: &str) {
    let size = fitting([text], above.width, HEADING, true);
    let at = (above.x, above.y - 12.0);
    canvas.text(at, text, &Lettering::new(size).bold());
}
