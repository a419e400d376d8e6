//! The inner level of poll functions without a loop of their own, and of futures whose loop calls other functions. The
//! description of the site names the children, the expressions of upstream's bounds, whose place a budget takes, and the
//! expressions around which something is counted.

use syn::Expr;
use syn::spanned::Spanned;

use crate::calls::{Expressions, child_of_method};
use crate::error::Refused;
use crate::inner::Marks;
use crate::insertion::Mark;
use crate::locate::{FoundFunction, InFile, ParsedCrate, bytes, only_one};
use crate::sites::{Level, NamedExpressions, Rewrite};

/// Makes the marks of the children, and the code that puts budgets in the place of upstream's bounds.
pub(crate) fn marks<'a>(
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    description: &NamedExpressions,
) -> Result<Marks<'a>, Refused> {
    let mut marks = Marks::default();
    for method in description.children {
        mark_child(&mut marks, function, method, "child_ended()")?;
    }
    let outer_child = description.inner.part_of.and_then(|outer| {
        description
            .children
            .iter()
            .position(|method| *method == outer)
    });
    let after = outer_child.map_or("child_ended()".to_owned(), |number| {
        format!("child({number})")
    });
    mark_child(
        &mut marks,
        &named(parsed, function, description.inner.caller)?,
        description.inner.method,
        &after,
    )?;
    for rewrite in description.bounds {
        match around(parsed, function, Mark::Bound, rewrite) {
            Ok(insertions) => marks.insertions.extend(insertions),
            Err(refused) => marks.budget = Level::from(&refused),
        }
    }
    Ok(marks)
}

/// Makes the code around all expressions where something is counted. If one of them is not there, nothing is counted.
pub(crate) fn counts<'a>(
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    rewrites: &[Rewrite],
) -> Result<Vec<InFile<'a>>, Refused> {
    let mut insertions = Vec::new();
    for rewrite in rewrites {
        insertions.extend(around(parsed, function, Mark::Count, rewrite)?);
    }
    Ok(insertions)
}

/// Marks the call of a method in a function. The code `after` says who has the time after the call.
fn mark_child<'a>(
    marks: &mut Marks<'a>,
    function: &FoundFunction<'a>,
    method: &str,
    after: &str,
) -> Result<(), Refused> {
    let is_call = |expr: &Expr| matches!(expr, Expr::MethodCall(call) if call.method.to_string().starts_with(method));
    let found = only(function, format!("one call of `{method}`"), is_call)?;
    let Expr::MethodCall(call) = found else {
        return Ok(());
    };
    let child = child_of_method(function, call);
    let range = bytes(found);
    let begin = format!("(::poll_probe::child({}), ", marks.number(&child));
    marks.begin_child(function, range.start, child, begin);
    let end = format!(", ::poll_probe::{after}).1");
    marks
        .insertions
        .push(function.within(range.end, Mark::ChildEnd, end));
    Ok(())
}

/// Finds the function `Type::function`, which the function of the site calls.
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

/// Makes the code around an expression in a function that the site calls.
pub(crate) fn around<'a>(
    parsed: &'a ParsedCrate,
    site: &FoundFunction<'a>,
    mark: Mark,
    rewrite: &Rewrite,
) -> Result<[InFile<'a>; 2], Refused> {
    let function = named(parsed, site, rewrite.function)?;
    let looked_for = format!("one `{}`", rewrite.expression);
    let found = only(&function, looked_for, |expr| {
        function.text(expr) == rewrite.expression
    })?;
    let range = bytes(found);
    Ok([
        function.within(range.start, mark, rewrite.before),
        function.within(range.end, mark, rewrite.after),
    ])
}

fn only<'a>(
    function: &FoundFunction<'a>,
    looked_for: String,
    is_wanted: impl Fn(&Expr) -> bool,
) -> Result<&'a Expr, Refused> {
    let mut found = Expressions::in_block(function.body);
    found.retain(|expr| is_wanted(expr));
    only_one(&function.place, looked_for, found, |expr| expr.span())
}
