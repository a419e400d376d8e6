//! What a poll function does with its context. Whoever has it can poll a child, so every use has to
//! be accounted for.

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Block, Expr, ExprMethodCall, Ident, Macro,
    visit::{self, Visit},
};

use crate::{
    error::{Place, Refused},
    locate::bytes,
};

/// Refuses a body in which the context `cx` is used elsewhere than at the `marked` bytes, save to
/// keep its waker or to wake it.
pub(crate) fn refuse_others(
    body: &Block,
    cx: &Ident,
    marked: &[usize],
    place: &Place,
) -> Result<(), Refused> {
    let mut uses = Uses {
        cx,
        found: Vec::new(),
        of_waker: Vec::new(),
        made: None,
    };
    uses.visit_block(body);
    if let Some(line) = uses.made {
        return Err(place.refused(
            format!("no context but `{cx}`"),
            format!("one made in line {line}"),
        ));
    }
    let is_known = |at: &usize| marked.contains(at) || uses.of_waker.contains(at);
    match uses.found.iter().find(|(at, _)| !is_known(at)) {
        None => Ok(()),
        Some((_, line)) => Err(place.refused(
            format!(
                "`{cx}` to be handed to the polls in the loop as it is, and else only \
                 `{cx}.waker().clone()` or `.wake_by_ref()`"
            ),
            format!("another use of it in line {line}"),
        )),
    }
}

struct Uses<'a> {
    cx: &'a Ident,
    /// Where, as byte and line.
    found: Vec<(usize, usize)>,
    of_waker: Vec<usize>,
    /// The line in which a context is made, with which a child could be polled as well.
    made: Option<usize>,
}

impl Uses<'_> {
    fn ident(&mut self, ident: &Ident) {
        let line = ident.span().start().line;
        if ident == self.cx {
            self.found.push((bytes(ident).start, line));
        }
        if ident == "from_waker" || ident == "ContextBuilder" {
            self.made.get_or_insert(line);
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => self.ident(&ident),
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_ident(&mut self, ident: &'ast Ident) {
        self.ident(ident);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        self.tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if (call.method == "clone" || call.method == "wake_by_ref")
            && let Expr::MethodCall(waker) = &*call.receiver
            && waker.method == "waker"
            && let Expr::Path(path) = &*waker.receiver
            && path.path.is_ident(self.cx)
        {
            self.of_waker.push(bytes(path).start);
        }
        visit::visit_expr_method_call(self, call);
    }
}
