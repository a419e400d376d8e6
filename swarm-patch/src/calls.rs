//! Finds the calls that get the context as an argument, in code that runs when its expression does.

use syn::{
    Expr, ExprCall, ExprMethodCall, Ident, Macro, PathSegment, Token,
    punctuated::Punctuated,
    visit::{self, Visit},
};

use crate::{
    error::Refused,
    locate::{FoundFunction, bytes},
};

/// A call that gets the context.
#[derive(Clone)]
pub(crate) struct ContextCall {
    /// The name of the child that it polls.
    pub(crate) child: String,
    /// Where the context is among its arguments, in bytes.
    pub(crate) contexts: Vec<usize>,
}

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

/// Searches a function for calls that get the context `cx`.
#[derive(Clone, Copy)]
pub(crate) struct CallSearch<'f, 'a> {
    pub(crate) function: &'f FoundFunction<'a>,
    pub(crate) cx: &'f Ident,
}

impl<'f, 'a> CallSearch<'f, 'a> {
    pub(crate) fn in_expr(self, expr: &Expr) -> Result<Vec<ContextCall>, Refused> {
        self.calls(|visitor| visitor.visit_expr(expr))
    }

    pub(crate) fn in_macro(self, invocation: &Macro) -> Result<Vec<ContextCall>, Refused> {
        self.calls(|visitor| visitor.visit_macro(invocation))
    }

    fn calls(
        self,
        visit: impl FnOnce(&mut CallVisitor<'f, 'a>),
    ) -> Result<Vec<ContextCall>, Refused> {
        let mut visitor = CallVisitor {
            search: self,
            found: Vec::new(),
            refused: None,
        };
        visit(&mut visitor);
        visitor.refused.map_or(Ok(visitor.found), Err)
    }

    /// Whether the expression is such a call.
    pub(crate) fn is_call(self, expr: &Expr) -> bool {
        let arguments = match expr {
            Expr::MethodCall(call) => &call.args,
            Expr::Call(call) => &call.args,
            _ => return false,
        };
        arguments.iter().any(|argument| self.is_cx(argument))
    }

    fn is_cx(self, expr: &Expr) -> bool {
        matches!(expr, Expr::Path(path) if path.path.is_ident(self.cx))
    }
}

struct CallVisitor<'f, 'a> {
    search: CallSearch<'f, 'a>,
    found: Vec<ContextCall>,
    refused: Option<Refused>,
}

impl CallVisitor<'_, '_> {
    /// Keeps a call with these arguments if the context is among them.
    fn keep<P>(&mut self, arguments: &Punctuated<Expr, P>, child: impl FnOnce() -> String) {
        let contexts = arguments
            .iter()
            .filter(|argument| self.search.is_cx(argument));
        let contexts: Vec<usize> = contexts.map(|argument| bytes(argument).start).collect();
        if !contexts.is_empty() {
            let child = child();
            self.found.push(ContextCall { child, contexts });
        }
    }
}

impl<'ast> Visit<'ast> for CallVisitor<'_, '_> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let function = self.search.function;
        self.keep(&call.args, || child_of_method(function, call));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        let search = self.search;
        self.keep(&call.args, || {
            child_of_call(search.function, call, |argument| search.is_cx(argument))
        });
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        let tokens = invocation.tokens.to_string();
        let mut words = tokens.split(|c: char| !c.is_alphanumeric() && c != '_');
        if words.any(|word| self.search.cx == word) {
            let function = self.search.function;
            self.refused.get_or_insert_with(|| {
                let found = format!("{}!", function.text(&invocation.path));
                function.refused("no macro that gets the context", found, invocation)
            });
        }
    }

    // Their code runs later, or never.
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}
