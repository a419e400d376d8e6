//! The words around a picture: headings above, small print below. All of it is wrapped, never clipped.

use crate::charts::{
    draw::{Canvas, FAINT_INK, Lettering, Point, Rect, fitting, grey, wrap},
    view::Caption,
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

/// The width of what is between the margins.
pub(crate) const BODY_WIDTH: f64 = WIDTH - 2.0 * MARGIN;

pub(crate) fn size(caption: &Caption, body_height: f64) -> (u32, u32) {
    let height = header_height(caption) + body_height + footer_height(caption);
    (WIDTH as u32, height.ceil() as u32)
}

/// Draws the words and tells what they leave for the picture itself.
pub(crate) fn draw(canvas: &mut Canvas<'_>, caption: &Caption, body_height: f64) -> Rect {
    let (width, height) = size(caption, body_height);
    canvas.fill(
        Rect::new(0.0, 0.0, f64::from(width), f64::from(height)),
        grey(255),
    );
    let mut y = MARGIN;
    for (text, style) in headings(caption) {
        y = paragraph(canvas, y, text, &style);
    }
    let body = Rect::new(MARGIN, header_height(caption), BODY_WIDTH, body_height);
    let small_print = Lettering::new(SMALL_PRINT).colour(FAINT_INK);
    paragraph(
        canvas,
        body.bottom() + AFTER_BODY,
        &caption.small_print,
        &small_print,
    );
    body
}

/// The title above a part of the picture.
pub(crate) fn draw_heading(canvas: &mut Canvas<'_>, above: Rect, text: &str) {
    let size = fitting([text], above.width, HEADING, true);
    let at = Point::new(above.x, above.y - 12.0);
    canvas.text(at, text, &Lettering::new(size).bold());
}

fn headings(caption: &Caption) -> impl Iterator<Item = (&str, Lettering)> {
    let title = (caption.title.as_str(), Lettering::new(TITLE).bold());
    let subtitle = caption
        .subtitle
        .as_deref()
        .map(|text| (text, Lettering::new(SUBTITLE)));
    [title].into_iter().chain(subtitle)
}

/// Tells where the next one begins.
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
        .map(|(text, style)| paragraph_height(text, &style))
        .sum();
    // Whole, so that what is on whole pixels in the body stays sharp.
    (MARGIN + text + BEFORE_BODY).ceil()
}

fn footer_height(caption: &Caption) -> f64 {
    AFTER_BODY + paragraph_height(&caption.small_print, &Lettering::new(SMALL_PRINT)) + MARGIN / 2.0
}

fn paragraph_height(text: &str, style: &Lettering) -> f64 {
    wrap(text, BODY_WIDTH, style.size, style.bold).len() as f64 * LINE * style.size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_words_make_a_taller_picture() {
        let short = Caption {
            title: "Slow polls".to_owned(),
            subtitle: None,
            small_print: "run 1".to_owned(),
        };
        let long = Caption {
            small_print: "x86_64 ".repeat(100),
            ..short.clone()
        };
        assert!(size(&long, 100.0).1 > size(&short, 100.0).1 + 40);
        assert_eq!(size(&long, 100.0).0, 1200);
    }
}
