//! One line for a stack.

/// Which of several functions that match a stack begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// The one that called the others.
    Outermost,
    /// The one called last.
    Innermost,
}

/// The names from a function that `matches` inwards, with `;` between them, or none if no function
/// does. `stack` is outermost first, as of [`Symbols::stack`](crate::Symbols::stack).
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
    fn begins_with_the_function_asked_for() {
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
    fn a_stack_without_it_is_none() {
        assert_eq!(
            fold(&stack(), Begin::Innermost, |name| name == "poll"),
            None
        );
    }
}
