//! Whether a loop can be left between two iterations without losing anything. A poll function that returns
//! `Pending` loses its variables. What they hold must lie elsewhere, or the next poll would miss it.
//!
//! Only a `loop` that is a statement of the function qualifies: at its top, only the variables before it hold anything.

use syn::{Expr, ExprLoop, FnArg, Local, Pat, Stmt, Type};

use crate::calls::callee;
use crate::locate::{FoundFunction, is_type};

/// The names of the variables that a budget's patch inserts into a measured source begin with this. No source has such names
/// of its own.
pub(crate) const INSERTED: &str = "swarm_patch_";

/// Whether a variable is the counter or the clock of an inserted budget, which begins anew with every poll.
fn is_inserted_counter(local: &Local) -> bool {
    let begins = |value: &Expr| match value {
        Expr::Lit(_) => true,
        Expr::Call(call) => callee(call).is_some_and(|name| name == "now"),
        _ => false,
    };
    matches!(&local.pat, Pat::Ident(name) if name.ident.to_string().starts_with(INSERTED))
        && local.init.as_ref().is_some_and(|init| begins(&init.expr))
}

/// Whether a function has an argument that is lost when it returns.
fn takes_argument_by_value(function: &FoundFunction<'_>) -> bool {
    function.signature.inputs.iter().any(|input| match input {
        FnArg::Receiver(_) => false,
        FnArg::Typed(typed) => {
            !matches!(&*typed.ty, Type::Reference(_)) && !is_type(&typed.ty, "Pin")
        }
    })
}

/// The first `loop` among the statements, if it can be left. An `async` function loses nothing, since it waits there.
pub(crate) fn loop_that_can_return_early<'a>(function: &FoundFunction<'a>) -> Option<&'a ExprLoop> {
    let is_async = function.signature.asyncness.is_some();
    if !is_async && (!function.returns_poll() || takes_argument_by_value(function)) {
        return None;
    }
    for statement in &function.body.stmts {
        match statement {
            Stmt::Expr(Expr::Loop(found), _) => return Some(found),
            Stmt::Local(local) if !is_async && keeps_something(local) => return None,
            _ => {}
        }
    }
    None
}

/// Whether a variable holds a value of its own, which is lost when the function returns.
fn keeps_something(local: &Local) -> bool {
    let Some(init) = &local.init else {
        return true;
    };
    let is_changed = matches!(&local.pat, Pat::Ident(name) if name.mutability.is_some());
    let is_self = |path: &syn::Path| path.is_ident("self") || path.is_ident("this");
    match &*init.expr {
        _ if is_inserted_counter(local) => false,
        // A mutable copy may change from iteration to iteration.
        Expr::Path(value) if is_changed => !is_self(&value.path),
        Expr::Field(_) | Expr::Lit(_) if is_changed => true,
        Expr::Lit(_) => false,
        value => !lies_elsewhere(value),
    }
}

/// Whether the expression is a place, or a reference to one.
fn lies_elsewhere(expr: &Expr) -> bool {
    const VIEWS: [&str; 4] = ["as_mut", "get_mut", "get_unchecked_mut", "project"];
    match expr {
        Expr::Path(_) => true,
        Expr::Field(inner) => lies_elsewhere(&inner.base),
        Expr::Reference(inner) => lies_elsewhere(&inner.expr),
        Expr::Unary(inner) => lies_elsewhere(&inner.expr),
        Expr::MethodCall(call) => {
            VIEWS.iter().any(|name| call.method == name) && lies_elsewhere(&call.receiver)
        }
        _ => false,
    }
}
