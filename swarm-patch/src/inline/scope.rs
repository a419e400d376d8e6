//! What holds at a place in the code.

use syn::Ident;

use super::Walk;

/// What holds at a place in the code.
#[derive(Clone)]
pub(super) struct Scope {
    /// The name of the context, if there is one.
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

impl Walk<'_, '_> {
    /// Runs in another scope.
    pub(super) fn scoped(&mut self, scope: Scope, walk: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.scope, scope);
        walk(self);
        self.scope = outer;
    }

    /// The same, where more may be lost.
    pub(super) fn keeping(&mut self, more: bool, walk: impl FnOnce(&mut Self)) {
        let keeps = self.scope.keeps || more;
        self.scoped(
            Scope {
                keeps,
                ..self.scope.clone()
            },
            walk,
        );
    }
}
