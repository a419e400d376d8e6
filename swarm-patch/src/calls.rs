//! Finds the calls that are handed the context, in the code that runs when an expression does.

use syn::{
    Expr, ExprCall, ExprMethodCall, Ident, Macro,
    punctuated::Punctuated,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{
    error::{Place, Refused},
    locate::bytes,
    text::one_line,
};

/// A call that is handed the context.
#[derive(Clone)]
pub(crate) struct Call {
    /// What names the child.
    pub(crate) child: String,
    /// Where it is handed the context.
    pub(crate) contexts: Vec<usize>,
}

/// Where to look, and for what.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) source: &'a str,
    pub(crate) place: &'a Place,
    pub(crate) cx: &'a Ident,
}

impl<'a> Search<'a> {
    pub(crate) fn in_expr(self, expr: &Expr) -> Result<Vec<Call>, Refused> {
        self.calls(|calls| calls.visit_expr(expr))
    }

    pub(crate) fn in_macro(self, invocation: &Macro) -> Result<Vec<Call>, Refused> {
        self.calls(|calls| calls.visit_macro(invocation))
    }

    fn calls(self, visit: impl FnOnce(&mut Calls<'a>)) -> Result<Vec<Call>, Refused> {
        let mut calls = Calls {
            search: self,
            found: Vec::new(),
            refused: None,
        };
        visit(&mut calls);
        calls.refused.map_or(Ok(calls.found), Err)
    }

    /// Whether the expression is such a call.
    pub(crate) fn is_call(self, expr: &Expr) -> bool {
        let arguments = match expr {
            Expr::MethodCall(call) => &call.args,
            Expr::Call(call) => &call.args,
            _ => return false,
        };
        !self.contexts(arguments).is_empty()
    }

    fn is_cx(self, expr: &Expr) -> bool {
        matches!(expr, Expr::Path(path) if path.path.is_ident(self.cx))
    }

    fn contexts<P>(self, arguments: &Punctuated<Expr, P>) -> Vec<usize> {
        let contexts = arguments.iter().filter(|argument| self.is_cx(argument));
        contexts.map(|argument| bytes(argument).start).collect()
    }

    fn text(self, node: &impl Spanned) -> String {
        one_line(self.source, bytes(node))
    }
}

struct Calls<'a> {
    search: Search<'a>,
    found: Vec<Call>,
    refused: Option<Refused>,
}

impl Calls<'_> {
    fn refuse(&mut self, looked_for: &str, found: String) {
        let place = self.search.place;
        self.refused
            .get_or_insert_with(|| place.refused(looked_for, found));
    }
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let contexts = self.search.contexts(&call.args);
        if !contexts.is_empty() {
            let child = format!("{}.{}", self.search.text(&call.receiver), call.method);
            self.found.push(Call { child, contexts });
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        let contexts = self.search.contexts(&call.args);
        if !contexts.is_empty() {
            let function = self.search.text(&call.func);
            let function = function.split("::<").next().unwrap_or(&function).to_owned();
            // `Future::poll(x, cx)` is `x.poll(cx)` written differently: the name is in the argument.
            let polls = function
                .rsplit("::")
                .next()
                .is_some_and(|last| last.starts_with("poll"));
            let child = match call.args.first() {
                Some(polled) if polls && !self.search.is_cx(polled) => {
                    format!("{function}({})", self.search.text(polled))
                }
                _ => function,
            };
            self.found.push(Call { child, contexts });
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        let mentions_cx = invocation
            .tokens
            .to_string()
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| self.search.cx == word);
        if mentions_cx {
            let line = invocation.span().start().line;
            let found = format!("{}! in line {line}", self.search.text(&invocation.path));
            self.refuse("no macro that is handed the context", found);
        }
    }

    // What these hold runs later, or never.
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}
