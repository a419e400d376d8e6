//! Marks for poll functions without a loop of their own, and for futures whose loop calls other functions. The description
//! names the children, the expressions of upstream's bounds, whose place a budget takes, and those around which counts are
//! to be had.

use syn::{Expr, spanned::Spanned, visit::Visit};

use crate::{
    calls::{child_of_method, picked},
    error::Refused,
    inner::{Marks, number},
    insertion::Insertion,
    locate::{FoundFunction, ParsedCrate, ParsedFile, bytes, only_one},
    sites::{LoopShape, Rewrite},
};

/// The marks of the children, and where budgets apply.
pub(crate) fn marks<'a>(
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    shape: LoopShape,
) -> Result<Marks<'a>, Refused> {
    let mut marks = Marks {
        insertions: Vec::new(),
        children: Vec::new(),
        cannot_be_left: None,
    };
    let (children, inner, bounds, counts): (&[&str], _, &[Rewrite], _) = match shape {
        LoopShape::Passes {
            children,
            inner,
            bounds,
            counts,
        } => (children, inner, bounds, counts),
        LoopShape::Future { inner, iterations } => (&[], inner, &[], iterations),
        LoopShape::Poll | LoopShape::Task { .. } => return Ok(marks),
    };
    for method in children {
        mark_child(&mut marks, function, method, "own()")?;
    }
    let around_it = |of: &str| children.iter().position(|method| *method == of);
    let after = inner.part_of.and_then(around_it);
    let after = after.map(|place| format!("child({place})"));
    mark_child(
        &mut marks,
        &named(parsed, function, inner.caller)?,
        inner.method,
        after.as_deref().unwrap_or("own()"),
    )?;
    let bounds = bounds.iter().map(|it| ("bound", it));
    for (mark, bound) in bounds.chain(counts.iter().map(|it| ("count", it))) {
        match around(parsed, function, mark, bound) {
            Ok(insertions) => marks.insertions.extend(insertions),
            Err(refused) => marks.cannot_be_left = Some(refused),
        }
    }
    Ok(marks)
}

/// Marks the call of a method in a function, and by `after` what the time is of after it.
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
    let place = number(&mut marks.children, &child);
    let begin = format!("(::poll_probe::child({place}), ");
    let at = bytes(found);
    let begin = Insertion {
        child: Some(child),
        ..function.within(at.start, "child", begin)
    };
    let end = function.within(at.end, "own", format!(", ::poll_probe::{after}).1"));
    marks.insertions.extend(function.in_file(vec![begin, end]));
    Ok(())
}

/// The function `Type::function`, which one of the site calls.
fn named<'a>(
    parsed: &'a ParsedCrate,
    site: &FoundFunction<'a>,
    path: &str,
) -> Result<FoundFunction<'a>, Refused> {
    let split = path.split_once("::");
    let function = split.and_then(|(owner, name)| parsed.only_function(Some(owner), name));
    function.ok_or_else(|| {
        let looked_for = format!("one function {path}");
        site.place.refused(looked_for, "none, or several")
    })
}

fn around<'a>(
    parsed: &'a ParsedCrate,
    site: &FoundFunction<'a>,
    mark: &'static str,
    bound: &Rewrite,
) -> Result<Vec<(&'a ParsedFile, Insertion)>, Refused> {
    let function = named(parsed, site, bound.function)?;
    let looked_for = format!("one `{}`", bound.expression);
    let found = only(&function, looked_for, |expr| {
        function.text(expr) == bound.expression
    })?;
    let (at, (begin, end)) = (
        bytes(found),
        bound.becomes.split_once("{}").unwrap_or_default(),
    );
    Ok(function.in_file(vec![
        function.within(at.start, mark, begin.to_owned()),
        function.within(at.end, mark, end.to_owned()),
    ]))
}

fn only<'a>(
    function: &FoundFunction<'a>,
    looked_for: String,
    is_it: impl Fn(&Expr) -> bool,
) -> Result<&'a Expr, Refused> {
    let found = picked(
        |finder| finder.visit_block(function.body),
        |expr| is_it(expr).then_some(expr),
    );
    only_one(&function.place, looked_for, &found, Spanned::span)
}
