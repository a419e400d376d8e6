//! The methods that the function of a site hands its context to, and that poll in a loop.

use syn::{Expr, Ident};

use crate::calls::Expressions;
use crate::idents::{idents, uses};
use crate::locate::{FoundFunction, ParsedCrate};

/// Returns the function of a site and these methods. The graft adds the invocation to their arguments, so no other function
/// may call them.
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
        for name in calls_on_self(&caller) {
            let Some(method) = parsed.only_function(&format!("{owner}::{name}")) else {
                continue;
            };
            let is_new = found.iter().all(|known| known.path != method.path);
            if is_new
                && has_loop(&method)
                && is_called_only_by(found.iter().chain([&method]), parsed, name)
            {
                found.push(method);
            }
        }
    }
    found
}

/// Whether an expression is the object that the site's function is called on.
pub(crate) fn is_self(receiver: &Expr) -> bool {
    match receiver {
        Expr::Path(path) => path.path.is_ident("self") || path.path.is_ident("this"),
        Expr::MethodCall(view) => {
            (view.method == "as_mut" || view.method == "get_mut") && is_self(&view.receiver)
        }
        _ => false,
    }
}

/// Whether a function uses its context in a loop.
fn has_loop(function: &FoundFunction<'_>) -> bool {
    let Some((cx, _)) = function.context() else {
        return false;
    };
    let mut expressions = Expressions::in_block(function.body).into_iter();
    expressions.any(|expr| match expr {
        Expr::Loop(found) => uses(found, cx),
        Expr::ForLoop(found) => uses(found, cx),
        Expr::While(found) => uses(found, cx),
        _ => false,
    })
}

/// The calls in which a function hands its context to methods of its own type.
fn calls_on_self<'a>(function: &FoundFunction<'a>) -> Vec<&'a Ident> {
    let Some((cx, _)) = function.context() else {
        return Vec::new();
    };
    Expressions::in_block(function.body)
        .into_iter()
        .filter_map(|expr| match expr {
            Expr::MethodCall(call) if is_self(&call.receiver) && uses(&call.args, cx) => {
                Some(&call.method)
            }
            _ => None,
        })
        .collect()
}

/// Whether every use of a name in the crate, except the definition, is a call by one of the `callers`.
fn is_called_only_by<'f, 'a: 'f>(
    callers: impl Iterator<Item = &'f FoundFunction<'a>>,
    parsed: &ParsedCrate,
    name: &Ident,
) -> bool {
    let everywhere = parsed.files.iter().flat_map(|file| idents(&file.tree));
    let calls = callers
        .flat_map(calls_on_self)
        .filter(|called| *called == name);
    everywhere.filter(|ident| ident == name).count() == calls.count() + 1
}
