//! Fits text into widths.

use super::font::width_of;

/// The width of the widest text.
pub(crate) fn widest<'a>(texts: impl IntoIterator<Item = &'a str>, size: f64, bold: bool) -> f64 {
    let widths = texts.into_iter().map(|text| width_of(text, size, bold));
    widths.fold(0.0, f64::max)
}

/// The given size, or a smaller one with which the widest text fits.
pub(crate) fn fitting<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    width: f64,
    size: f64,
    bold: bool,
) -> f64 {
    let widest = widest(texts, size, bold);
    if widest <= width {
        size
    } else {
        size * width / widest
    }
}

/// Breaks text after spaces, and labels such as `muxer=1/deferred` after their signs. What is still wider than a line is
/// broken anywhere.
pub(crate) fn wrap(text: &str, width: f64, size: f64, bold: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_inclusive([' ', '/', ',', '=']) {
        let longer = format!("{line}{word}");
        if width_of(longer.trim_end(), size, bold) <= width {
            line = longer;
            continue;
        }
        lines.push(line);
        let mut pieces = pieces_of(word, width, size, bold);
        line = pieces.pop().unwrap_or_default();
        lines.extend(pieces);
    }
    lines.push(line);
    let lines = lines.iter().map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

fn pieces_of(word: &str, width: f64, size: f64, bold: bool) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0.0;
    for character in word.chars() {
        let needed = width_of(character.encode_utf8(&mut [0; 4]), size, bold);
        if used > 0.0 && used + needed > width {
            pieces.push(String::new());
            used = 0.0;
        }
        used += needed;
        let piece = pieces.last_mut().expect("there is one from the start");
        piece.push(character);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_asked_and_no_word_is_lost() {
        let text = "kernel 6.18 sha256:0123456789abcdef0123456789abcdef0123456789abcdef cubic";
        let lines = wrap(text, 200.0, 15.0, false);
        assert!(lines.len() > 2);
        assert!(
            lines
                .iter()
                .all(|line| width_of(line, 15.0, false) <= 200.0)
        );
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    }

    #[test]
    fn text_that_fits_keeps_its_size() {
        assert_eq!(fitting(["ab", "abc"], 500.0, 17.0, false), 17.0);
        let size = fitting(["abcdefghijklmnop"], 50.0, 17.0, false);
        assert!(width_of("abcdefghijklmnop", size, false) <= 50.01);
    }
}
