//! How a poll function returns: the statements by which it says that it waits, and a refusal of what
//! may return unseen.

use syn::{
    Block, Expr, Macro, Stmt,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::error::{Place, Refused};

/// The statements in `body` that return `Pending`.
pub(crate) fn pending<'ast>(body: &'ast Block, place: &Place) -> Result<Vec<&'ast Stmt>, Refused> {
    let mut returns = Returns {
        place,
        pending: Vec::new(),
        refused: None,
    };
    returns.visit_block(body);
    returns.refused.map_or(Ok(returns.pending), Err)
}

/// Macros that are known to return from no function.
const MACROS: [&str; 19] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "debug",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "error",
    "event",
    "format",
    "info",
    "log",
    "matches",
    "panic",
    "trace",
    "unimplemented",
    "unreachable",
    "vec",
    "warn",
];

struct Returns<'a, 'ast> {
    place: &'a Place,
    pending: Vec<&'ast Stmt>,
    refused: Option<Refused>,
}

impl Returns<'_, '_> {
    fn refuse(&mut self, node: &impl Spanned, found: &str) {
        let line = node.span().start().line;
        self.refused.get_or_insert_with(|| {
            self.place.refused(
                "`return Poll::Pending;`, `return Poll::Ready(...)` and `?` to be the only ways out",
                format!("{found} in line {line}"),
            )
        });
    }
}

impl<'ast> Visit<'ast> for Returns<'_, 'ast> {
    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        match statement {
            Stmt::Expr(Expr::Return(returned), _)
                if returned.expr.as_deref().is_some_and(is_pending) =>
            {
                self.pending.push(statement);
            }
            _ => visit::visit_stmt(self, statement),
        }
    }

    fn visit_expr_return(&mut self, returned: &'ast syn::ExprReturn) {
        if !returned.expr.as_deref().is_some_and(is_ready) {
            self.refuse(returned, "another return");
        }
        visit::visit_expr_return(self, returned);
    }

    fn visit_expr_break(&mut self, broken: &'ast syn::ExprBreak) {
        if broken.expr.is_some() {
            self.refuse(broken, "a `break` with a value");
        }
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        let name = invocation.path.segments.last();
        if let Some(name) = name.filter(|name| MACROS.iter().all(|known| name.ident != known)) {
            self.refuse(invocation, &format!("`{}!`", name.ident));
        }
    }

    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

fn is_pending(expr: &Expr) -> bool {
    matches!(expr, Expr::Path(path) if path.path.segments.last().is_some_and(|name| name.ident == "Pending"))
}

fn is_ready(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(call)
        if matches!(&*call.func, Expr::Path(path)
            if path.path.segments.last().is_some_and(|name| name.ident == "Ready")))
}
