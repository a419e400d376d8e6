//! The outer level of a site: durations and outcomes, whatever the body of the function does.

use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Expr, ExprMethodCall};

use crate::calls::{Expressions, callee};
use crate::error::Refused;
use crate::inner::{Marks, PROBE};
use crate::locate::{FoundFunction, InFile, ParsedCrate, bytes, only_one};
use crate::sites::{LoopShape, SiteSpec};

/// The lines around the body of a poll function. The body becomes a closure, so that each of its ways out leads
/// to the same line. `marks` are those of its inner level.
pub(crate) fn of_poll_function<'a>(
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
    marks: Option<&Marks<'_>>,
) -> Result<Vec<InFile<'a>>, Refused> {
    let returned = function.returned_text();
    if returned.contains("impl ") {
        let looked_for = "a return type that can be named";
        return Err(Refused::new(&function.place, looked_for, returned));
    }
    let site = spec.inserted();
    let children = marks.map(|marks| &marks.children[..]).unwrap_or_default();
    let closure = format!("move || -> {returned} {{");
    let enter = match (spec.shape, marks) {
        (LoopShape::Passes(_), _) => {
            let begin = format!("::poll_probe::passes({site}, &{children:?}, {closure}");
            return Ok(function.around_body(&begin, "})"));
        }
        (_, Some(_)) => format!("enter({site}, &{children:?});\nlet {PROBE} = &mut invocation;"),
        (_, None) => format!("enter_unmarked({site});"),
    };
    let begin =
        format!("let mut invocation = ::poll_probe::Invocation::{enter}\nlet polled = ({closure}");
    let end = "})();\ninvocation.returns(&polled);\npolled";
    Ok(function.around_body(&begin, end))
}

/// Whether a function is `async`, or returns some future that need not be named.
pub(crate) fn is_future(function: &FoundFunction<'_>) -> bool {
    function.signature.asyncness.is_some() || function.returned_text().starts_with("impl ")
}

/// The lines around the body of such a function, whose future becomes an instrumented one.
pub(crate) fn of_future<'a>(
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
    marks: Option<&Marks<'_>>,
) -> Vec<InFile<'a>> {
    let (begin, end) = match function.signature.asyncness {
        Some(_) => ("async move {", "}).await"),
        None => ("(move || {", "})())"),
    };
    let begin = format!("{}.instrument({begin}", probe(spec, marks));
    function.around_body(&begin, end)
}

fn probe(spec: &SiteSpec, marks: Option<&Marks<'_>>) -> String {
    let site = spec.inserted();
    match marks {
        Some(Marks { children, .. }) => {
            format!("::poll_probe::Probe::new({site}).children(&{children:?})")
        }
        None => format!("::poll_probe::Probe::unmarked({site})"),
    }
}

/// The future that a connection becomes a task with, where it is handed to the executor.
pub(crate) struct Spawned<'a> {
    function: FoundFunction<'a>,
    call: &'a ExprMethodCall,
}

impl<'a> Spawned<'a> {
    /// Looks for the place in that function.
    pub(crate) fn locate(parsed: &'a ParsedCrate, path: &str) -> Result<Spawned<'a>, Refused> {
        let place = parsed.place("src", path);
        let function = only_one(&place, "one function", parsed.functions(path), |it| {
            it.signature.ident.span()
        })?;
        let expressions = Expressions::of(|all| all.visit_block(function.body)).into_iter();
        let spawns = expressions.filter_map(|expr| match expr {
            Expr::MethodCall(call) => Some(call),
            _ => None,
        });
        let spawns = spawns.filter(|call| call.method == "spawn" && call.args.len() == 1);
        let looked_for = "one `.spawn(FUTURE)`";
        let call = only_one(&function.place, looked_for, spawns.collect(), |call| {
            call.span()
        })?;
        Ok(Spawned { function, call })
    }

    pub(crate) fn made_by(&self, parsed: &'a ParsedCrate) -> Option<FoundFunction<'a>> {
        let expressions = Expressions::of(|all| all.visit_expr(&self.call.args[0])).into_iter();
        let mut named = expressions.filter_map(|expr| match expr {
            Expr::Call(call) => parsed.only_function(&callee(call)?.1.to_string()),
            _ => None,
        });
        named.find(is_future)
    }

    pub(crate) fn wrapped(&self, spec: &SiteSpec, marks: Option<&Marks<'_>>) -> Vec<InFile<'a>> {
        let at = bytes(&self.call.args[0]);
        let begin = format!("{}.instrument(", probe(spec, marks));
        vec![
            self.function.within(at.start, "enter", begin),
            self.function.within(at.end, "leave", ")"),
        ]
    }
}

#[cfg(feature = "subjects")]
impl<'a> Spawned<'a> {
    /// Makes the future the argument of a call. The line breaks stay, as `rustfmt` has them.
    pub(crate) fn within(&self, begin: &str) -> [InFile<'a>; 2] {
        let paren = self.call.paren_token.span;
        [
            self.function
                .within(bytes(&paren.open()).end, "budget", begin),
            self.function
                .within(bytes(&paren.close()).start, "budget", ")"),
        ]
    }
}
