//! Recognises expressions that take almost no time. The time of the poll whose result they handle may
//! include theirs.

use syn::{Expr, ExprMethodCall, Stmt};

/// Whether the expression only jumps or makes a value: it calls nothing but constructors.
pub(crate) fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) | Expr::Lit(_) | Expr::Continue(_) => true,
        Expr::Break(leaving) => leaving.expr.is_none(),
        Expr::Return(leaving) => leaving.expr.as_deref().is_none_or(is_plain),
        Expr::Block(block) => block.block.stmts.is_empty(),
        Expr::Tuple(tuple) => tuple.elems.iter().all(is_plain),
        Expr::Struct(made) => {
            made.rest.is_none() && made.fields.iter().all(|field| is_plain(&field.expr))
        }
        Expr::Call(call) => is_constructor(&call.func) && call.args.iter().all(is_plain),
        Expr::Paren(inner) => is_plain(&inner.expr),
        Expr::Reference(inner) => is_plain(&inner.expr),
        Expr::Unary(inner) => is_plain(&inner.expr),
        Expr::Field(field) => is_plain(&field.base),
        Expr::Binary(both) => is_plain(&both.left) && is_plain(&both.right),
        _ => false,
    }
}

pub(crate) fn is_plain_statement(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(expr, _) if is_plain(expr))
}

fn is_constructor(function: &Expr) -> bool {
    matches!(function, Expr::Path(path) if path.path.segments.last().is_some_and(|name| {
        name.ident.to_string().starts_with(char::is_uppercase)
    }))
}

/// Whether the expression is a call for which `is_poll` is true, or only inspects the result of one.
pub(crate) fn only_looks_at(expr: &Expr, is_poll: &dyn Fn(&Expr) -> bool) -> bool {
    if is_poll(expr) {
        return true;
    }
    let inner = match expr {
        Expr::Try(inner) => &inner.expr,
        Expr::Paren(inner) => &inner.expr,
        Expr::Reference(inner) => &inner.expr,
        Expr::Unary(inner) => &inner.expr,
        Expr::Let(inner) => &inner.expr,
        Expr::Assign(inner) if is_plain(&inner.left) => &inner.right,
        Expr::MethodCall(call) if looks(call) => &call.receiver,
        // The module `ways_out` judges the return itself.
        Expr::Return(leaving) => match &leaving.expr {
            Some(inner) => inner,
            None => return false,
        },
        _ => return false,
    };
    only_looks_at(inner, is_poll)
}

fn looks(call: &ExprMethodCall) -> bool {
    const LOOKS: &str =
        "is_ready is_pending is_some is_none is_ok is_err ok err map map_ok map_err";
    LOOKS.split(' ').any(|name| call.method == name)
        && call
            .args
            .iter()
            .all(|argument| matches!(argument, Expr::Path(_)))
}
