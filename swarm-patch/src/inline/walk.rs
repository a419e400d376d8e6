//! The way through a function, and what was found on it.

use std::ops::Range;

use syn::Ident;

use crate::error::Refused;
use crate::helpers::Helpers;
use crate::inner::{Marks, PROBE};
use crate::locate::FoundFunction;

/// How the marks reach the invocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is a variable of the function.
    Variable,
    /// The future lends it to the thread.
    Lent,
}

impl Access {
    /// What calls that function of the invocation, up to its arguments.
    pub(super) fn call(self, function: &str) -> String {
        match self {
            Access::Variable => format!("{PROBE}.{function}"),
            Access::Lent => format!("::poll_probe::{function}"),
        }
    }
}

/// What holds at a place in the code.
#[derive(Clone)]
pub(super) struct Scope {
    pub(super) cx: Option<Ident>,
    /// Whether a loop waits for the next poll when the budget is spent, as in an `async` function or block. Others are left
    /// by `return Poll::Pending`.
    pub(super) awaits: bool,
    /// Whether such a return is not to be had, or would lose something.
    pub(super) keeps: bool,
}

pub(super) struct Arms {
    /// The call that gives the matched value, in bytes.
    pub(super) polled: Range<usize>,
    /// Where the first arm begins, in bytes.
    pub(super) begin: usize,
    /// Of a first arm: matches what ends the time of the call. After `Poll::Pending` nearly always the next call
    /// comes at once, and its mark ends the time, which saves a reading of the clock.
    pub(super) pattern: &'static str,
}

/// The state of the way through one function.
pub(super) struct Walk<'w, 'a> {
    pub(super) function: &'w FoundFunction<'a>,
    pub(super) access: Access,
    pub(super) helpers: &'w mut Helpers<'a>,
    pub(super) marks: &'w mut Marks<'a>,
    pub(super) scope: Scope,
    /// Where contexts are that the marks know of, in bytes.
    pub(super) contexts: Vec<usize>,
    /// The names of all contexts.
    pub(super) names: Vec<Ident>,
    /// The `match` whose expression is visited.
    pub(super) arms: Option<Arms>,
    pub(super) loops: usize,
    /// Whether turns of its loops are iterations.
    pub(super) counts: bool,
    pub(super) refused: Option<Refused>,
}

impl Walk<'_, '_> {
    pub(super) fn within(&mut self, byte: usize, mark: &'static str, text: impl Into<String>) {
        let insertion = self.function.within(byte, mark, text);
        self.marks.insertions.push(insertion);
    }

    /// Runs in another scope.
    pub(super) fn scoped(&mut self, scope: Scope, walk: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.scope, scope);
        walk(self);
        self.scope = outer;
    }

    /// The same, where more may be lost.
    pub(super) fn keeping(&mut self, more: bool, walk: impl FnOnce(&mut Self)) {
        let mut scope = self.scope.clone();
        scope.keeps |= more;
        self.scoped(scope, walk);
    }
}
