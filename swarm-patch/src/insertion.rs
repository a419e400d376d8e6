//! Code to insert into a source.

use std::fmt;

use crate::text::{indentation, line_number, start_of_line};

/// Code, and where it goes.
#[derive(Clone, Debug)]
pub struct Insertion {
    /// The byte of the source before which the code comes, counted from 0.
    pub byte: usize,
    /// The code. If it is a line, the text has the line's indentation and its end.
    pub text: String,
    /// The purpose of the code.
    pub mark: Mark,
    /// The child whose time begins here.
    pub child: Option<String>,
}

/// The purpose of inserted code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Begins an invocation.
    Enter,
    /// Ends an invocation.
    Leave,
    /// Counts an iteration and checks the budget.
    Iterate,
    /// Only counts an iteration, or has something else counted.
    Count,
    /// Begins the time of a child.
    Child,
    /// Ends the time of a child.
    ChildEnd,
    /// Hands the invocation on.
    Pass,
    /// Has the budget take the place of a bound of upstream's.
    Bound,
    /// Adds the new way of a remedy.
    Remedy,
    /// Is a budget without a probe.
    Budget,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mark::Enter => "enter",
            Mark::Leave => "leave",
            Mark::Iterate => "iterate",
            Mark::Count => "count",
            Mark::Child => "child",
            Mark::ChildEnd => "child-end",
            Mark::Pass => "pass",
            Mark::Bound => "bound",
            Mark::Remedy => "remedy",
            Mark::Budget => "budget",
        })
    }
}

/// The place of inserted lines, by the numbers of lines of the source.
#[derive(Clone, Copy)]
pub(crate) struct LinePlace {
    pub(crate) before: usize,
    /// The line whose indentation the inserted lines get.
    pub(crate) like: usize,
}

impl Insertion {
    pub(crate) fn new(byte: usize, mark: Mark, text: impl Into<String>) -> Insertion {
        Insertion {
            byte,
            text: text.into(),
            mark,
            child: None,
        }
    }

    pub(crate) fn lines(source: &str, place: LinePlace, mark: Mark, text: &str) -> Vec<Insertion> {
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
