//! Prints the lines that a person reads on the terminal when a report is written.

use std::env;
use std::io::{self, IsTerminal};

use program::{print_raw, printable};

/// Prints lines of Markdown. Bold is bold on a terminal, unless its user sets `NO_COLOR` (<https://no-color.org>).
pub(crate) fn print(lines: &[String]) {
    let wants_plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let has_bold = io::stdout().is_terminal() && !wants_plain;
    for line in lines {
        print_raw(&format!("{}\n", styled(&printable(line), has_bold)));
    }
}

fn styled(markdown: &str, has_bold: bool) -> String {
    let parts = markdown.split("**").enumerate();
    let styled = parts.map(|(index, part)| match has_bold && index % 2 == 1 {
        true => format!("\x1b[1m{part}\x1b[0m"),
        false => part.to_owned(),
    });
    styled.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terminal_has_bold() {
        let line = "throughput  **−9.1 % [−10.9, −7.2]**";
        assert_eq!(styled(line, false), "throughput  −9.1 % [−10.9, −7.2]");
        let bold = "throughput  \x1b[1m−9.1 % [−10.9, −7.2]\x1b[0m";
        assert_eq!(styled(line, true), bold);
    }
}
