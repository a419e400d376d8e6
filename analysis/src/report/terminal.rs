//! Prints the lines that a person reads on the terminal when a report is written.

use std::env;
use std::io::{self, IsTerminal};

use program::{printable, put};

/// A line of text, which ends with a change if it is a row of a table. Bold is as in Markdown.
pub(crate) struct Line {
    text: String,
    change: String,
    is_grey: bool,
}

impl From<String> for Line {
    fn from(text: String) -> Line {
        Line {
            text,
            change: String::new(),
            is_grey: false,
        }
    }
}

impl Line {
    /// A row of a table. A grey change says nothing that a reader could act on.
    pub(super) fn of_table(text: String, change: String, is_grey: bool) -> Line {
        Line {
            text,
            change,
            is_grey,
        }
    }

    /// The line with the marks that the report's tables have: bold, plain and grey.
    fn styled(&self, has_colours: bool) -> String {
        let [text, change] =
            [&self.text, &self.change].map(|text| with_bold(&printable(text), has_colours));
        match self.is_grey && has_colours {
            true => format!("{text}\x1b[90m{change}\x1b[0m"),
            false => text + &change,
        }
    }
}

fn with_bold(markdown: &str, has_colours: bool) -> String {
    let parts = markdown.split("**").enumerate();
    let styled = parts.map(|(index, part)| match has_colours && index % 2 == 1 {
        true => format!("\x1b[1m{part}\x1b[0m"),
        false => part.to_owned(),
    });
    styled.collect()
}

/// Whether to colour: only a terminal has colours, and a user who sets `NO_COLOR` wants none (<https://no-color.org>).
fn has_colours() -> bool {
    let wants_none = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal() && !wants_none
}

pub(crate) fn print(lines: &[Line]) {
    let has_colours = has_colours();
    for line in lines {
        put(&format!("{}\n", line.styled(has_colours)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_marks_as_the_report_does_and_nothing_else_does() {
        let row = |change: &str, is_grey: bool| {
            Line::of_table("throughput  ".to_owned(), change.to_owned(), is_grey)
        };
        let bold = row("**−9.1 % [−10.9, −7.2]**", false);
        let bold = [true, false].map(|has_colours| bold.styled(has_colours));
        let expected = [
            "throughput  \x1b[1m−9.1 % [−10.9, −7.2]\x1b[0m",
            "throughput  −9.1 % [−10.9, −7.2]",
        ];
        assert_eq!(bold, expected);
        let open = row("not resolved [0.0, +4.8]", true).styled(true);
        assert_eq!(open, "throughput  \x1b[90mnot resolved [0.0, +4.8]\x1b[0m");
        let plain = row("−0.56 % [−0.84, −0.29]", false).styled(true);
        assert_eq!(plain, "throughput  −0.56 % [−0.84, −0.29]");
        let hostile = Line::from("**\x1b[2J**".to_owned()).styled(true);
        assert_eq!(hostile, "\x1b[1m\\u{1b}[2J\x1b[0m");
    }
}
