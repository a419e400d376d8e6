//! Whether a loop can be left between two of its turns without losing anything. A poll function that returns
//! `Pending` loses its variables. What they hold must lie elsewhere, or the next poll would miss it.

use syn::visit::Visit;
use syn::{Expr, FnArg, Local, Pat, Stmt, Type};

use crate::calls::callee;
use crate::locate::{FoundFunction, is_type};

/// Whether it is the counter or the clock of a budget of the function's own, which begins anew with every poll.
fn counts_turns(local: &Local) -> bool {
    const NAMES: [&str; 3] = ["iterations", "started", "has_iterated"];
    let begins = |value: &Expr| match value {
        Expr::Lit(_) => true,
        Expr::Call(call) => callee(call).is_some_and(|(_, name)| name == "now"),
        _ => false,
    };
    matches!(&local.pat, Pat::Ident(name) if NAMES.iter().any(|known| name.ident == known))
        && local.init.as_ref().is_some_and(|init| begins(&init.expr))
}

/// Whether a function is given something that is lost when it returns.
pub(crate) fn is_given_something(function: &FoundFunction<'_>) -> bool {
    function.signature.inputs.iter().any(|input| match input {
        FnArg::Receiver(_) => false,
        FnArg::Typed(typed) => {
            !matches!(&*typed.ty, Type::Reference(_)) && !is_type(&typed.ty, "Pin")
        }
    })
}

/// Whether a variable holds something of its own.
pub(crate) fn keeps_something(local: &Local) -> bool {
    let Some(init) = &local.init else {
        return true;
    };
    let is_changed = matches!(&local.pat, Pat::Ident(name) if name.mutability.is_some());
    let is_own = |path: &syn::Path| path.is_ident("self") || path.is_ident("this");
    match &*init.expr {
        _ if counts_turns(local) => false,
        // A copy that changes from turn to turn.
        Expr::Path(value) if is_changed && !is_own(&value.path) => true,
        Expr::Lit(_) if !is_changed => false,
        value => takes_something(&local.pat, value),
    }
}

/// Whether a pattern takes something out of a value that does not lie elsewhere.
pub(crate) fn takes_something(pat: &Pat, value: &Expr) -> bool {
    binds(pat) && !lies_elsewhere(value)
}

fn binds(pat: &Pat) -> bool {
    #[derive(Default)]
    struct Variables(bool);
    impl<'ast> Visit<'ast> for Variables {
        fn visit_pat_ident(&mut self, name: &'ast syn::PatIdent) {
            // Constants and unit variants look the same, but for their capitals.
            self.0 |= !name.ident.to_string().starts_with(char::is_uppercase);
        }
    }
    let mut variables = Variables::default();
    variables.visit_pat(pat);
    variables.0
}

/// Whether the expression is a place, or a reference to one.
pub(crate) fn lies_elsewhere(expr: &Expr) -> bool {
    const VIEWS: &str = "as_mut as_ref deref deref_mut as_pin_mut as_deref_mut get_mut get_unchecked_mut iter iter_mut project";
    match expr {
        Expr::Path(_) => true,
        Expr::Field(inner) => lies_elsewhere(&inner.base),
        Expr::Index(inner) => lies_elsewhere(&inner.expr),
        Expr::Paren(inner) => lies_elsewhere(&inner.expr),
        Expr::Reference(inner) => lies_elsewhere(&inner.expr),
        Expr::Unary(inner) => lies_elsewhere(&inner.expr),
        Expr::Unsafe(inner) => match &inner.block.stmts[..] {
            [Stmt::Expr(only, None)] => lies_elsewhere(only),
            _ => false,
        },
        Expr::MethodCall(call) => {
            VIEWS.split(' ').any(|name| call.method == name) && lies_elsewhere(&call.receiver)
        }
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Path(path) if path.path.segments.iter().any(|it| it.ident == "Pin"))
                && call.args.iter().all(lies_elsewhere)
        }
        _ => false,
    }
}
