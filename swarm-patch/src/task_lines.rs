//! Marks on lines of their own, for an `async` loop with one `poll_fn` in it, which polls the connection.

use syn::{
    Expr, ExprCall, ExprClosure, ExprMethodCall, Pat,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{
    error::Refused,
    inner::Marks,
    insertion::Insertion,
    locate::{FoundFunction, bytes, only_one},
};

/// The marks of an `async` function.
pub(crate) fn marks<'a>(function: &FoundFunction<'a>) -> Result<Marks<'a>, Refused> {
    let the_loop = function.the_loop()?;
    let child = polled_child(function)?;
    let in_loop = function.first_line_in(&the_loop.body)?;
    // The loop gets a `poll_fn` of its own, so that nothing uses the imported one any more.
    let mut insertions: Vec<Insertion> = function
        .imports()
        .filter(|(_, names)| names.iter().any(|name| name == "poll_fn"))
        .map(|(import, _)| function.lines.number(bytes(import).start))
        .map(|line| Insertion::new(line, "allow", "#[allow(unused_imports)]"))
        .collect();
    insertions.push(Insertion::new(
        in_loop,
        "iterate",
        "::poll_probe::iterate().await;",
    ));
    insertions.push(Insertion {
        child: Some(child.clone()),
        ..Insertion::new(
            in_loop,
            "child",
            "use ::poll_probe::poll_fn_child as poll_fn;",
        )
    });
    Ok(Marks {
        insertions: function.in_file(insertions),
        children: vec![child],
        cannot_be_left: None,
    })
}

fn polled_child(function: &FoundFunction<'_>) -> Result<String, Refused> {
    #[derive(Default)]
    struct PollFns<'ast>(Vec<&'ast ExprCall>);
    impl<'ast> Visit<'ast> for PollFns<'ast> {
        fn visit_expr_call(&mut self, call: &'ast ExprCall) {
            if matches!(&*call.func, Expr::Path(path) if path.path.is_ident("poll_fn")) {
                self.0.push(call);
            }
            visit::visit_expr_call(self, call);
        }
    }
    let mut poll_fns = PollFns::default();
    poll_fns.visit_block(function.body);
    let looked_for = "one `poll_fn(|cx| CHILD.poll(cx))` in the loop";
    let call = only_one(&function.place, looked_for, &poll_fns.0, Spanned::span)?;
    if let Some(Expr::Closure(closure)) = call.args.first()
        && let Expr::MethodCall(polled) = &*closure.body
        && is_handed_on(closure, polled)
    {
        let receiver = function.text(&polled.receiver);
        return Ok(format!("{receiver}.{}", polled.method));
    }
    Err(function.place.refused(looked_for, function.text(call)))
}

/// Whether the closure's only parameter is the call's only argument. Otherwise the context could poll
/// another child.
fn is_handed_on(closure: &ExprClosure, polled: &ExprMethodCall) -> bool {
    match (closure.inputs.first(), polled.args.first()) {
        (Some(Pat::Ident(parameter)), Some(Expr::Path(argument))) => {
            closure.inputs.len() == 1
                && polled.args.len() == 1
                && argument.path.is_ident(&parameter.ident)
        }
        _ => false,
    }
}
