//! Marks for poll functions without a loop of their own, and for futures whose loop calls other functions. The description
//! names the children, the expressions of upstream's bounds, whose place a budget takes, and those around which counts are
//! to be had.

use syn::Expr;
use syn::spanned::Spanned;

use crate::calls::{Expressions, child_of_method};
use crate::error::Refused;
use crate::inner::Marks;
use crate::insertion::Insertion;
use crate::locate::{FoundFunction, InFile, ParsedCrate, bytes, only_one};
use crate::sites::{Passes, Rewrite};

/// The marks of the children, and where budgets apply.
pub(crate) fn marks<'a>(
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    passes: &Passes,
) -> Result<Marks<'a>, Refused> {
    let mut marks = Marks::default();
    for method in passes.children {
        mark_child(&mut marks, function, method, "own()")?;
    }
    let around_it = |name: &str| passes.children.iter().position(|method| *method == name);
    let after = passes.inner.part_of.and_then(around_it);
    let after = after.map(|place| format!("child({place})"));
    mark_child(
        &mut marks,
        &named(parsed, function, passes.inner.caller)?,
        passes.inner.method,
        after.as_deref().unwrap_or("own()"),
    )?;
    let bounds = passes.bounds.iter().map(|bound| ("bound", bound));
    for (mark, bound) in bounds.chain(passes.counts.iter().map(|count| ("count", count))) {
        match around(parsed, function, mark, bound) {
            Ok(insertions) => marks.insertions.extend(insertions),
            Err(refused) => marks.cannot_be_left = Some(refused),
        }
    }
    Ok(marks)
}

/// Marks the call of a method in a function. The code `after` says to whom the time after the call belongs.
fn mark_child<'a>(
    marks: &mut Marks<'a>,
    function: &FoundFunction<'a>,
    method: &str,
    after: &str,
) -> Result<(), Refused> {
    let is_it = |expr: &Expr| matches!(expr, Expr::MethodCall(call) if call.method.to_string().starts_with(method));
    let found = only(function, format!("one call of `{method}`"), is_it)?;
    let Expr::MethodCall(call) = found else {
        return Ok(());
    };
    let child = child_of_method(function, call);
    let begin = format!("(::poll_probe::child({}), ", marks.number(&child));
    let at = bytes(found);
    let (file, begin) = function.within(at.start, "child", begin);
    let child = Some(child);
    marks.insertions.push((file, Insertion { child, ..begin }));
    let end = format!(", ::poll_probe::{after}).1");
    marks.insertions.push(function.within(at.end, "own", end));
    Ok(())
}

/// The function `Type::function`, which one of the site calls.
fn named<'a>(
    parsed: &'a ParsedCrate,
    site: &FoundFunction<'a>,
    path: &str,
) -> Result<FoundFunction<'a>, Refused> {
    parsed.only_function(path).ok_or_else(|| {
        let looked_for = format!("one function {path}");
        Refused::new(&site.place, looked_for, "none, or several")
    })
}

/// Code around an expression of a function that the site calls.
pub(crate) fn around<'a>(
    parsed: &'a ParsedCrate,
    site: &FoundFunction<'a>,
    mark: &'static str,
    bound: &Rewrite,
) -> Result<[InFile<'a>; 2], Refused> {
    let function = named(parsed, site, bound.function)?;
    let looked_for = format!("one `{}`", bound.expression);
    let found = only(&function, looked_for, |expr| {
        function.text(expr) == bound.expression
    })?;
    let at = bytes(found);
    let (begin, end) = bound.becomes.split_once("{}").unwrap_or_default();
    Ok([
        function.within(at.start, mark, begin),
        function.within(at.end, mark, end),
    ])
}

fn only<'a>(
    function: &FoundFunction<'a>,
    looked_for: String,
    is_it: impl Fn(&Expr) -> bool,
) -> Result<&'a Expr, Refused> {
    let mut found = Expressions::in_block(function.body);
    found.retain(|expr| is_it(expr));
    only_one(&function.place, looked_for, found, |expr| expr.span())
}
