//! The lines of a source, numbered from 1.

use std::ops::Range;

#[derive(Clone)]
pub(crate) struct LineIndex<'a> {
    source: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        let ends = source.match_indices('\n').map(|(at, _)| at + 1);
        let mut starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
        if starts.last() == Some(&source.len()) {
            starts.pop();
        }
        LineIndex { source, starts }
    }

    /// Where a line begins, in bytes; beyond the last line, the end.
    pub(crate) fn start(&self, number: usize) -> usize {
        let start = self.starts.get(number - 1);
        start.copied().unwrap_or(self.source.len())
    }

    /// The line with its end; empty beyond the last.
    pub(crate) fn line(&self, number: usize) -> &'a str {
        match self.starts.get(number - 1) {
            Some(&start) => {
                &self.source[start..*self.starts.get(number).unwrap_or(&self.source.len())]
            }
            None => "",
        }
    }

    /// The number of the line that the byte at `offset` is in.
    pub(crate) fn number(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset)
    }

    /// Whether there are only spaces before `offset` in its line.
    pub(crate) fn begins_line(&self, offset: usize) -> bool {
        let start = self.starts[self.number(offset) - 1];
        self.source[start..offset].trim().is_empty()
    }

    /// Whether there is nothing but a comment after `offset` in its line.
    pub(crate) fn ends_line(&self, offset: usize) -> bool {
        let rest = self.source[offset..].lines().next().unwrap_or("").trim();
        rest.is_empty() || rest.starts_with("//")
    }
}

pub(crate) fn indentation(line: &str) -> &str {
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
