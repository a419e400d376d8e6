//! Formats a stack as one line.

/// The function at which a folded stack begins if several functions match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// The matching function that called the others.
    Outermost,
    /// The matching function that was called last.
    Innermost,
}

/// Joins the names from the matching function inwards with `;`. `None` if no function matches. `stack` is
/// outermost first, as in the result of [`Symbols::stack`](crate::Symbols::stack).
pub fn fold(stack: &[String], begin: Begin, matches: impl Fn(&str) -> bool) -> Option<String> {
    let matches = |name: &String| matches(name);
    let first = match begin {
        Begin::Outermost => stack.iter().position(matches),
        Begin::Innermost => stack.iter().rposition(matches),
    };
    first.map(|first| stack[first..].join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack() -> Vec<String> {
        ["main", "Muxer::poll", "turn", "Muxer::poll", "send"]
            .map(str::to_owned)
            .to_vec()
    }

    #[test]
    fn the_line_begins_with_the_requested_function() {
        let is_poll = |name: &str| name.ends_with("::poll");
        assert_eq!(
            fold(&stack(), Begin::Outermost, is_poll).as_deref(),
            Some("Muxer::poll;turn;Muxer::poll;send")
        );
        assert_eq!(
            fold(&stack(), Begin::Innermost, is_poll).as_deref(),
            Some("Muxer::poll;send")
        );
    }

    #[test]
    fn a_stack_without_a_matching_function_has_no_line() {
        assert_eq!(
            fold(&stack(), Begin::Innermost, |name| name == "poll"),
            None
        );
    }
}
