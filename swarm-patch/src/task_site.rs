//! The lines that make an `async` loop a site: its body becomes a future that is instrumented, the
//! loop counts itself, and the one `poll_fn` in it, which polls the connection, is the child.

use syn::{
    Block, Expr, ExprCall, ExprClosure, ExprMethodCall, File, Item, Pat,
    visit::{self, Visit},
};

use crate::{
    error::{Place, Refused},
    insertion::{Insertion, Purpose},
    locate::{Found, bytes, first_line_in, names_in},
    sites::SiteSpec,
    text::{LineIndex, one_line},
};

/// The lines for the `async` function `found`.
pub fn insertions(
    source: &str,
    tree: &File,
    found: &Found<'_>,
    spec: &SiteSpec,
    place: &Place,
) -> Result<Vec<Insertion>, Refused> {
    if found.signature.asyncness.is_none() {
        return Err(place.refused("an `async` function", "one that is not"));
    }
    let lines = LineIndex::new(source);
    let child = polled_child(source, &found.the_loop.body, place)?;
    let in_body = first_line_in(&lines, found.body, place)?;
    let in_loop = first_line_in(&lines, &found.the_loop.body, place)?;
    let body_end = closing_line(&lines, found.body, place)?;
    let line = |before, like, text: String, purpose| Insertion {
        before,
        like,
        text,
        purpose,
    };
    let enter = format!(
        "::poll_probe::Probe::new(::poll_probe::Site::{}).children(&[{child:?}]).instrument(async move {{",
        spec.site
    );
    let import = "use ::poll_probe::poll_fn_child as poll_fn;";
    let imports = imports_of_poll_fn(tree, &lines).map(|number| {
        let allow = "#[allow(unused_imports)]".into();
        line(number, number, allow, Purpose::Allow)
    });
    let mut insertions: Vec<Insertion> = imports.collect();
    insertions.extend([
        line(in_body, in_body, enter, Purpose::Enter),
        line(
            in_loop,
            in_loop,
            "::poll_probe::iterate().await;".into(),
            Purpose::Iterate,
        ),
        line(in_loop, in_loop, import.into(), Purpose::Child(child)),
        line(body_end, in_body, "}).await".into(), Purpose::Leave),
    ]);
    Ok(insertions)
}

/// The lines of the imports that nothing uses any more once the loop has a `poll_fn` of its own.
fn imports_of_poll_fn(tree: &File, lines: &LineIndex<'_>) -> impl Iterator<Item = usize> {
    tree.items.iter().filter_map(|item| match item {
        Item::Use(import) => {
            let mut names = Vec::new();
            names_in(&import.tree, &mut names);
            let is_it = names.iter().any(|name| name == "poll_fn");
            is_it.then(|| lines.number(bytes(import).start))
        }
        _ => None,
    })
}

fn polled_child(source: &str, loop_body: &Block, place: &Place) -> Result<String, Refused> {
    struct PollFns<'ast>(Vec<&'ast ExprCall>);
    impl<'ast> Visit<'ast> for PollFns<'ast> {
        fn visit_expr_call(&mut self, call: &'ast ExprCall) {
            if matches!(&*call.func, Expr::Path(path) if path.path.is_ident("poll_fn")) {
                self.0.push(call);
            }
            visit::visit_expr_call(self, call);
        }
    }
    let mut poll_fns = PollFns(Vec::new());
    poll_fns.visit_block(loop_body);
    let looked_for = "one `poll_fn(|cx| CHILD.poll(cx))` in the loop";
    let [call] = poll_fns.0.as_slice() else {
        return Err(place.refused(looked_for, poll_fns.0.len().to_string()));
    };
    match call.args.first() {
        Some(Expr::Closure(closure)) => match &*closure.body {
            Expr::MethodCall(polled) if is_handed_on(closure, polled) => Ok(format!(
                "{}.{}",
                one_line(source, bytes(&polled.receiver)),
                polled.method
            )),
            other => Err(place.refused(looked_for, one_line(source, bytes(other)))),
        },
        _ => Err(place.refused(looked_for, one_line(source, bytes(*call)))),
    }
}

/// Whether the closure's one parameter is the one argument of the call: whoever has the context could
/// poll another child with it.
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

fn closing_line(lines: &LineIndex<'_>, block: &Block, place: &Place) -> Result<usize, Refused> {
    let close = bytes(&block.brace_token.span.close());
    let line = lines.number(close.start);
    if lines.begins_line(close.start) {
        Ok(line)
    } else {
        Err(place.refused(
            "a line of its own for a closing brace",
            format!("none in line {line}"),
        ))
    }
}
