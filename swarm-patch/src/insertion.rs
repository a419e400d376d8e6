//! Lines to insert into a source.

use crate::text::{LineIndex, indentation};

/// A line to insert.
#[derive(Clone, Debug)]
pub struct Insertion {
    /// The line of the source that it comes before, counted from 1.
    pub before: usize,
    /// The line of the source whose indentation it takes.
    pub like: usize,
    /// The line, without indentation and end.
    pub text: String,
    /// What the line does, in a word for tables: `enter` begins an invocation and `leave` ends it,
    /// `iterate` counts an iteration and checks the budget, `child` starts the time of a child and
    /// `own` that of the function itself, `pending` notes that the function is about to return
    /// `Pending`, `allow` silences the warning of an import that is no longer used, and `budget` is a
    /// budget without a probe.
    pub mark: &'static str,
    /// The child that the line marks.
    pub child: Option<String>,
}

impl Insertion {
    /// A line that takes the indentation of the line after it, and marks no child.
    pub(crate) fn new(before: usize, mark: &'static str, text: impl Into<String>) -> Insertion {
        Insertion {
            before,
            like: before,
            text: text.into(),
            mark,
            child: None,
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
        while let Some(insertion) = pending.next_if(|insertion| insertion.before == number) {
            if !insertion.text.is_empty() {
                out.push_str(indentation(lines.line(insertion.like)));
                out.push_str(&insertion.text);
            }
            out.push('\n');
        }
        out.push_str(lines.line(number));
    }
    out
}
