//! Code to insert into a source.

use crate::text::{indentation, line_number, start_of_line};

#[derive(Clone, Debug)]
pub struct Insertion {
    /// The byte of the source before which the code comes, counted from 0.
    pub byte: usize,
    /// The code. If it is a line, the text has the line's indentation and its end.
    pub text: String,
    /// A word for tables that says what the code does: `enter` begins an invocation and `leave` ends it, `iterate` counts an
    /// iteration and checks the budget, `count` only counts, or has something counted, `child` starts the time of a child
    /// and `child-end` ends it, `pass` hands the invocation on, `bound` has the budget take the place of a
    /// bound of upstream's, `remedy` adds the new way of a remedy, and `budget` is a budget without a probe.
    pub mark: &'static str,
    pub child: Option<String>,
}

/// The place of inserted lines, by the numbers of lines of the source.
#[derive(Clone, Copy)]
pub(crate) struct LinePlace {
    pub(crate) before: usize,
    /// The line whose indentation the inserted lines get.
    pub(crate) like: usize,
}

impl Insertion {
    pub(crate) fn new(byte: usize, mark: &'static str, text: impl Into<String>) -> Insertion {
        Insertion {
            byte,
            text: text.into(),
            mark,
            child: None,
        }
    }

    pub(crate) fn lines(
        source: &str,
        place: LinePlace,
        mark: &'static str,
        text: &str,
    ) -> Vec<Insertion> {
        let byte = start_of_line(source, place.before);
        let whole = |line: &str| match line {
            "" => "\n".to_owned(),
            line => format!("{}{line}\n", indentation(source, place.like)),
        };
        text.lines()
            .map(|line| Insertion::new(byte, mark, whole(line)))
            .collect()
    }

    /// The number, from 1, of the source's line that the code goes before or into.
    pub fn line(&self, source: &str) -> usize {
        line_number(source, self.byte)
    }
}

/// The source with the code inserted. Several insertions at one place keep their order.
pub fn insert<'a>(source: &str, insertions: impl Iterator<Item = &'a Insertion>) -> String {
    let mut ordered: Vec<&Insertion> = insertions.collect();
    ordered.sort_by_key(|insertion| insertion.byte);
    let (mut out, mut copied) = (String::new(), 0);
    for Insertion { byte, text, .. } in ordered {
        out = out + &source[copied..*byte] + text;
        copied = *byte;
    }
    out + &source[copied..]
}
