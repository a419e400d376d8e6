//! How a poll function returns: finds the statements that return `Pending`, and refuses code that may
//! return in a way that the graft does not see.

use syn::{
    Expr, Macro, Stmt,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{error::Refused, locate::FoundFunction};

/// The statements that return `Pending`.
pub(crate) fn pending<'a>(function: &'a FoundFunction<'a>) -> Result<Vec<&'a Stmt>, Refused> {
    let mut returns = Returns {
        function,
        pending: Vec::new(),
        refused: None,
    };
    returns.visit_block(function.body);
    returns.refused.map_or(Ok(returns.pending), Err)
}

/// Macros that never return from the function around them.
const MACROS: &str = "assert assert_eq assert_ne debug debug_assert debug_assert_eq debug_assert_ne error event format \
     info log matches panic trace unimplemented unreachable vec warn";

struct Returns<'a> {
    function: &'a FoundFunction<'a>,
    pending: Vec<&'a Stmt>,
    refused: Option<Refused>,
}

impl Returns<'_> {
    fn refuse(&mut self, node: &impl Spanned, found: &str) {
        self.refused.get_or_insert_with(|| {
            self.function.refused(
                "no way out of the function but `return Poll::Pending;`, `return Poll::Ready(...)` and `?`",
                found,
                node,
            )
        });
    }
}

impl<'a> Visit<'a> for Returns<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Expr(Expr::Return(returned), _)
                if returned.expr.as_deref().is_some_and(is_pending) =>
            {
                self.pending.push(statement);
            }
            _ => visit::visit_stmt(self, statement),
        }
    }

    fn visit_expr_return(&mut self, returned: &'a syn::ExprReturn) {
        if !returned.expr.as_deref().is_some_and(is_ready) {
            self.refuse(returned, "another return");
        }
        visit::visit_expr_return(self, returned);
    }

    fn visit_expr_break(&mut self, broken: &'a syn::ExprBreak) {
        if broken.expr.is_some() {
            self.refuse(broken, "a `break` with a value");
        }
    }

    fn visit_macro(&mut self, invocation: &'a Macro) {
        let name = invocation.path.segments.last();
        if let Some(name) = name.filter(|name| MACROS.split(' ').all(|known| name.ident != known)) {
            self.refuse(invocation, &format!("`{}!`", name.ident));
        }
    }

    fn visit_expr_closure(&mut self, _: &'a syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'a syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'a syn::Item) {}
}

fn is_pending(expr: &Expr) -> bool {
    matches!(expr, Expr::Path(path) if path.path.segments.last().is_some_and(|name| name.ident == "Pending"))
}

fn is_ready(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(call)
        if matches!(&*call.func, Expr::Path(path)
            if path.path.segments.last().is_some_and(|name| name.ident == "Ready")))
}
