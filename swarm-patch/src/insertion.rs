//! Lines to insert into a source.

use crate::text::{indentation, start_of_line};

#[derive(Clone, Debug)]
pub struct Insertion {
    /// The line of the source that it comes before, or is within, counted from 1.
    pub before: usize,
    pub place: Place,
    /// The code; of a line, without indentation and end.
    pub text: String,
    /// What the code does, in a word for tables: `enter` begins an invocation and `leave` ends it,
    /// `iterate` counts an iteration and checks the budget, `count` only counts, or has something counted, `loop` is
    /// around a loop, `child` starts the time of a child and `own` that of the function itself, `pass` hands the invocation
    /// on, `bound` has the budget take the place of a bound of upstream's, and `budget` is a budget without a probe.
    pub mark: &'static str,
    pub child: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A line of its own.
    OwnLine {
        /// The line of the source whose indentation it takes.
        like: usize,
    },
    /// Before this byte of the source.
    Within {
        /// Counted from 0.
        byte: usize,
    },
}

impl Insertion {
    /// A line that takes the indentation of the line after it, and marks no child.
    pub(crate) fn new(before: usize, mark: &'static str, text: impl Into<String>) -> Insertion {
        Insertion {
            before,
            place: Place::OwnLine { like: before },
            text: text.into(),
            mark,
            child: None,
        }
    }

    /// The lines of a text before a line, with the indentation of the line `like`, as a budget without a probe.
    #[cfg(feature = "subjects")]
    pub(crate) fn of_budget(before: usize, like: usize, text: &str) -> Vec<Insertion> {
        let place = Place::OwnLine { like };
        let line = |line| Insertion {
            place,
            ..Insertion::new(before, "budget", line)
        };
        text.lines().map(line).collect()
    }
}

/// The source with the code inserted. Several insertions at one place keep their order.
pub fn insert<'a>(source: &str, insertions: impl Iterator<Item = &'a Insertion>) -> String {
    let with_byte = |insertion: &'a Insertion| match insertion.place {
        Place::OwnLine { .. } => (start_of_line(source, insertion.before), insertion),
        Place::Within { byte } => (byte, insertion),
    };
    let mut ordered: Vec<(usize, &Insertion)> = insertions.map(with_byte).collect();
    ordered.sort_by_key(|(byte, _)| *byte);
    let (mut out, mut copied) = (String::new(), 0);
    for (at, insertion) in ordered {
        out.push_str(&source[copied..at]);
        copied = at;
        if let Place::OwnLine { like } = insertion.place {
            if !insertion.text.is_empty() {
                out.push_str(indentation(source, like));
            }
            out.push_str(&insertion.text);
            out.push('\n');
        } else {
            out.push_str(&insertion.text);
        }
    }
    out + &source[copied..]
}
