//! Lines to insert into a source.

use crate::text::{LineIndex, indentation};

/// A line to insert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insertion {
    /// The line of the source that it comes before, counted from 1.
    pub before: usize,
    /// The line of the source whose indentation it takes.
    pub like: usize,
    /// The line, without indentation and end.
    pub text: String,
    /// What it is for.
    pub purpose: Purpose,
}

/// What an inserted line does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Begins an invocation.
    Enter,
    /// Counts an iteration and asks the budget.
    Iterate,
    /// From here on the time is that of a child, which is named.
    Child(String),
    /// From here on the time is the function's own.
    Own,
    /// Notes that the function is about to return `Pending`.
    Pending,
    /// Ends an invocation.
    Leave,
    /// Keeps the compiler from warning of an import that an inserted one takes the place of.
    Allow,
    /// The budget alone, without a probe.
    Budget,
}

impl Purpose {
    /// One word for tables.
    pub fn word(&self) -> &'static str {
        match self {
            Purpose::Enter => "enter",
            Purpose::Iterate => "iterate",
            Purpose::Child(_) => "child",
            Purpose::Own => "own",
            Purpose::Pending => "pending",
            Purpose::Leave => "leave",
            Purpose::Allow => "allow",
            Purpose::Budget => "budget",
        }
    }
}

/// The source with the lines inserted. Several before one line keep their order.
pub fn insert(source: &str, insertions: &[Insertion]) -> String {
    let mut ordered: Vec<&Insertion> = insertions.iter().collect();
    ordered.sort_by_key(|insertion| insertion.before);
    let mut pending = ordered.into_iter().peekable();
    let mut out = String::with_capacity(source.len() + 80 * insertions.len());
    let lines = LineIndex::new(source);
    for number in 1..=lines.count() + 1 {
        let line = lines.line(number);
        while let Some(insertion) = pending.next_if(|insertion| insertion.before == number) {
            if !insertion.text.is_empty() {
                out.push_str(indentation(lines.line(insertion.like)));
                out.push_str(&insertion.text);
            }
            out.push('\n');
        }
        out.push_str(line);
    }
    out
}
