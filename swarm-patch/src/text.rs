//! The lines of a source, numbered from 1.

use std::ops::Range;

/// The byte at which a line begins. Beyond the last line, that is the end.
pub(crate) fn start_of_line(source: &str, number: usize) -> usize {
    let lines = source.split_inclusive('\n');
    lines.take(number - 1).map(str::len).sum()
}

/// The number of the line that the byte at `offset` is in.
pub(crate) fn line_number(source: &str, offset: usize) -> usize {
    source[..offset].matches('\n').count() + 1
}

/// Whether there are only spaces before `offset` in its line.
pub(crate) fn begins_line(source: &str, offset: usize) -> bool {
    let before = source[..offset].rsplit('\n').next();
    before.is_none_or(|before| before.trim().is_empty())
}

/// Whether there is nothing but a comment after `offset` in its line.
pub(crate) fn ends_line(source: &str, offset: usize) -> bool {
    let rest = source[offset..].lines().next().unwrap_or("").trim();
    rest.is_empty() || rest.starts_with("//")
}

/// The indentation of a line; empty beyond the last.
pub(crate) fn indentation(source: &str, number: usize) -> &str {
    let line = source.lines().nth(number - 1).unwrap_or("");
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The text of a range in one line, with single spaces and without spaces around dots and brackets.
pub(crate) fn one_line(source: &str, range: Range<usize>) -> String {
    let words: Vec<&str> = source[range].split_whitespace().collect();
    words
        .join(" ")
        .replace(" .", ".")
        .replace("( ", "(")
        .replace(" )", ")")
        .replace(",)", ")")
}
