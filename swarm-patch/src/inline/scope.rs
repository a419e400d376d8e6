//! What holds at a place in the code.

use syn::Ident;

#[derive(Clone)]
pub(super) struct Scope {
    pub(super) cx: Option<Ident>,
    pub(super) leave: Leave,
    /// Whether leaving would lose something.
    pub(super) keeps: bool,
}

impl Scope {
    /// Within an `async` function or block.
    pub(super) const ASYNC: Scope = Scope {
        cx: None,
        leave: Leave::Await,
        keeps: false,
    };
}

/// How a loop is left when the budget is spent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// By `return Poll::Pending`.
    Pending,
    /// It waits for the next poll.
    Await,
    Never,
}
