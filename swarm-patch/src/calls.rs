//! Finds calls and other expressions, and names the children that calls poll.

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprMethodCall, Ident, PathSegment, Token};

use crate::locate::FoundFunction;

/// The path of the function that is called, if it has one, and its name.
pub(crate) fn callee(call: &ExprCall) -> Option<(&Punctuated<PathSegment, Token![::]>, &Ident)> {
    match &*call.func {
        Expr::Path(path) => Some((&path.path.segments, &path.path.segments.last()?.ident)),
        _ => None,
    }
}

/// The name of a child: its own text.
pub(crate) fn child_of_method(function: &FoundFunction<'_>, call: &ExprMethodCall) -> String {
    format!("{}.{}", function.text(&call.receiver), call.method)
}

/// The same, for a call that is not of a method.
pub(crate) fn child_of_call(
    function: &FoundFunction<'_>,
    call: &ExprCall,
    is_cx: impl Fn(&Expr) -> bool,
) -> String {
    let name = function.text(&call.func);
    let name = name.split("::<").next().unwrap_or(&name);
    let last = name.rsplit("::").next().unwrap_or(name);
    match call.args.first() {
        // `Future::poll(x, cx)` is `x.poll(cx)` written differently: the argument names the child.
        Some(polled) if last.starts_with("poll") && !is_cx(polled) => {
            format!("{name}({})", function.text(polled))
        }
        _ => name.to_owned(),
    }
}

/// Makes something of some of the expressions that it visits, outer ones first.
pub(crate) struct Picking<F, T> {
    pick: F,
    picked: Vec<T>,
}

/// What `pick` makes of the expressions that `visit` leads to.
pub(crate) fn picked<'ast, T, F: Fn(&'ast Expr) -> Option<T>>(
    visit: impl FnOnce(&mut Picking<F, T>),
    pick: F,
) -> Vec<T> {
    let picked = Vec::new();
    let mut picking = Picking { pick, picked };
    visit(&mut picking);
    picking.picked
}

impl<'ast, T, F: Fn(&'ast Expr) -> Option<T>> Visit<'ast> for Picking<F, T> {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        self.picked.extend((self.pick)(expr));
        visit::visit_expr(self, expr);
    }
}
