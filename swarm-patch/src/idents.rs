//! The identifiers that a function uses, those in macros included.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, Ident, Macro};

use crate::error::Refused;
use crate::locate::{FoundFunction, bytes};

/// Refuses a function that uses the name of the inserted variable itself.
pub(crate) fn refuse_taken_name(function: &FoundFunction<'_>, name: &str) -> Result<(), Refused> {
    let uses = IdentUses::of(function);
    match uses.idents.iter().find(|ident| *ident == name) {
        None => Ok(()),
        Some(ident) => Err(function.refused(format!("no variable `{name}`"), "one", ident)),
    }
}

/// Refuses a function that uses its context `cx` elsewhere than at the `marked` bytes: with the
/// context it could poll a child unseen. It may still use the waker.
pub(crate) fn refuse_other_contexts(
    function: &FoundFunction<'_>,
    cx: &Ident,
    marked: &[usize],
) -> Result<(), Refused> {
    let uses = IdentUses::of(function);
    let makes_context = |ident: &&Ident| *ident == "from_waker" || *ident == "ContextBuilder";
    if let Some(made) = uses.idents.iter().find(makes_context) {
        return Err(function.refused(format!("no context but `{cx}`"), "one made", made));
    }
    let is_known = |at: usize| marked.contains(&at) || uses.of_waker.contains(&at);
    let mut contexts = uses.idents.iter().filter(|ident| *ident == cx);
    match contexts.find(|ident| !is_known(bytes(ident).start)) {
        None => Ok(()),
        Some(other) => Err(function.refused(
            format!("no use of `{cx}` except as an argument of polls and for its waker"),
            "another use",
            other,
        )),
    }
}

/// How often the code that `visit` leads to uses such a name, in macros too.
pub(crate) fn count(visit: impl FnOnce(&mut IdentUses), is_it: impl Fn(&Ident) -> bool) -> usize {
    let mut uses = IdentUses::default();
    visit(&mut uses);
    uses.idents.iter().filter(|ident| is_it(ident)).count()
}

#[derive(Default)]
pub(crate) struct IdentUses {
    idents: Vec<Ident>,
    /// Where `x` is in `x.waker()`.
    of_waker: Vec<usize>,
}

impl IdentUses {
    fn of(function: &FoundFunction<'_>) -> IdentUses {
        let mut uses = IdentUses::default();
        uses.visit_block(function.body);
        uses
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => self.idents.push(ident),
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for IdentUses {
    fn visit_ident(&mut self, ident: &'ast Ident) {
        self.idents.push(ident.clone());
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        self.tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if call.method == "waker"
            && let Expr::Path(path) = &*call.receiver
        {
            self.of_waker.push(bytes(path).start);
        }
        visit::visit_expr_method_call(self, call);
    }
}
