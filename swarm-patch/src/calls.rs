//! Finds calls and other expressions, and names the children that calls poll.

use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprCall, ExprMethodCall, Ident};

use crate::locate::FoundFunction;

/// The name of the function that is called. An expression that returns a function has none.
pub(crate) fn callee(call: &ExprCall) -> Option<&Ident> {
    match &*call.func {
        Expr::Path(path) => Some(&path.path.segments.last()?.ident),
        _ => None,
    }
}

/// The name of a child that is polled by a method: the text of the call.
pub(crate) fn child_of_method(function: &FoundFunction<'_>, call: &ExprMethodCall) -> String {
    format!("{}.{}", function.text(&call.receiver), call.method)
}

/// The name of a child that is polled by a free function.
pub(crate) fn child_of_call(
    function: &FoundFunction<'_>,
    call: &ExprCall,
    is_cx: impl Fn(&Expr) -> bool,
) -> String {
    let path = function.text(&call.func);
    let name = path.split("::<").next().unwrap_or(&path);
    let last = name.rsplit("::").next().unwrap_or(name);
    match call.args.first() {
        // `Future::poll(x, cx)` is `x.poll(cx)` written differently: the argument names the child.
        Some(polled) if last.starts_with("poll") && !is_cx(polled) => {
            format!("{name}({})", function.text(polled))
        }
        _ => name.to_owned(),
    }
}

/// The expressions in code, outer ones first.
#[derive(Default)]
pub(crate) struct Expressions<'a>(Vec<&'a Expr>);

impl<'a> Expressions<'a> {
    pub(crate) fn in_block(block: &'a Block) -> Vec<&'a Expr> {
        let mut all = Expressions::default();
        all.visit_block(block);
        all.0
    }

    pub(crate) fn in_expr(expr: &'a Expr) -> Vec<&'a Expr> {
        let mut all = Expressions::default();
        all.visit_expr(expr);
        all.0
    }
}

impl<'a> Visit<'a> for Expressions<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        self.0.push(expr);
        visit::visit_expr(self, expr);
    }
}
