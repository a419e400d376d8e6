//! The methods that the function of a site hands its context to, and that poll in a loop.

use syn::{Expr, Ident};

use crate::calls::Expressions;
use crate::idents::{idents, uses};
use crate::locate::{FoundFunction, ParsedCrate};

/// The function of a site and those methods of its type. They get the invocation as an argument, so nobody else may call
/// them.
pub(crate) fn with_methods<'a>(
    parsed: &'a ParsedCrate,
    site: &FoundFunction<'a>,
) -> Vec<FoundFunction<'a>> {
    let mut found = vec![site.clone()];
    let Some((owner, _)) = site.path.split_once("::") else {
        return found;
    };
    let mut number = 0;
    // The methods that are found call others.
    while let Some(caller) = found.get(number).cloned() {
        number += 1;
        for name in own_calls(&caller) {
            let method = parsed.only_function(&format!("{owner}::{name}"));
            let method =
                method.filter(|method| found.iter().all(|known| known.path != method.path));
            found.extend(method.filter(|method| {
                let known = found.iter().chain([method]);
                has_loop(method) && is_called_only_by(known, parsed, name)
            }));
        }
    }
    found
}

/// Whether an expression is what the site's function belongs to.
pub(crate) fn is_own(receiver: &Expr) -> bool {
    match receiver {
        Expr::Path(path) => path.path.is_ident("self") || path.path.is_ident("this"),
        Expr::MethodCall(view) => {
            (view.method == "as_mut" || view.method == "get_mut") && is_own(&view.receiver)
        }
        _ => false,
    }
}

/// Whether a loop of a function polls with its context.
fn has_loop(function: &FoundFunction<'_>) -> bool {
    let Some((cx, _)) = function.context() else {
        return false;
    };
    let expressions = Expressions::in_block(function.body);
    expressions.into_iter().any(|expr| match expr {
        Expr::Loop(turning) => uses(turning, cx),
        Expr::ForLoop(turning) => uses(turning, cx),
        Expr::While(turning) => uses(turning, cx),
        _ => false,
    })
}

/// The methods of its own type that a function hands its context to.
fn own_calls<'a>(function: &FoundFunction<'a>) -> Vec<&'a Ident> {
    let Some((cx, _)) = function.context() else {
        return Vec::new();
    };
    let expressions = Expressions::in_block(function.body).into_iter();
    let calls = expressions.filter_map(|expr| match expr {
        Expr::MethodCall(call) if is_own(&call.receiver) && uses(&call.args, cx) => {
            Some(&call.method)
        }
        _ => None,
    });
    calls.collect()
}

/// Whether every use of a name in the crate, but for the definition, is a call by one of those functions.
fn is_called_only_by<'f, 'a: 'f>(
    callers: impl Iterator<Item = &'f FoundFunction<'a>>,
    parsed: &ParsedCrate,
    name: &Ident,
) -> bool {
    let everywhere = parsed.files.iter().flat_map(|file| idents(&file.tree));
    let calls = callers.flat_map(own_calls).filter(|called| *called == name);
    everywhere.filter(|ident| ident == name).count() == calls.count() + 1
}
