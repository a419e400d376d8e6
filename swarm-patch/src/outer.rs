//! The outer level of a site: durations and outcomes, whatever the body of the function does.

use syn::{Expr, ExprMethodCall, Ident, spanned::Spanned, visit::Visit};

use crate::{
    calls::{callee, picked},
    error::{Refused, SourcePlace},
    inner::{Marks, PROBE},
    insertion::Insertion,
    locate::{FoundFunction, ParsedCrate, ParsedFile, bytes, only_one},
    sites::{LoopShape, SiteSpec},
};

/// The lines around the body of a poll function. The body becomes a closure, so that each of its ways out leads
/// to the same line. `marks` are those of its inner level.
pub(crate) fn of_poll_function<'a>(
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
    marks: Option<&Marks<'_>>,
) -> Result<Vec<(&'a ParsedFile, Insertion)>, Refused> {
    let returned = function
        .returned()
        .map(|ty| function.text(ty))
        .unwrap_or_default();
    if returned.contains("impl ") {
        let looked_for = "a return type that can be named";
        return Err(function.place.refused(looked_for, returned));
    }
    let site = spec.inserted();
    let children = marks.map(Marks::quoted_children).unwrap_or_default();
    const END: &str = "})();\ninvocation.returns(&polled);\npolled";
    let (begin, end) = match (spec.shape, marks) {
        (LoopShape::Passes { .. }, _) => (
            format!("::poll_probe::passes({site}, &[{children}], "),
            "})",
        ),
        (_, Some(_)) => (
            format!(
                "let mut invocation = ::poll_probe::Invocation::enter({site}, &[{children}]);\nlet {PROBE} = &mut invocation;\nlet polled = ("
            ),
            END,
        ),
        (_, None) => (
            format!(
                "let mut invocation = ::poll_probe::Invocation::enter_unmarked({site});\nlet polled = ("
            ),
            END,
        ),
    };
    let begin = format!("{begin}move || -> {returned} {{");
    let mut insertions = function.at_start_of(function.body, "enter", &begin);
    insertions.extend(function.at_end_of(function.body, "leave", end));
    Ok(function.in_file(insertions))
}

/// Whether a function is `async`, or returns some future that need not be named.
pub(crate) fn is_future(function: &FoundFunction<'_>) -> bool {
    let returned = function.returned().map(|ty| function.text(ty));
    function.signature.asyncness.is_some() || returned.is_some_and(|ty| ty.starts_with("impl "))
}

/// The lines around the body of such a function, whose future becomes an instrumented one.
pub(crate) fn of_future<'a>(
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
    marks: Option<&Marks<'_>>,
) -> Vec<(&'a ParsedFile, Insertion)> {
    let (begin, end) = match function.signature.asyncness {
        Some(_) => ("async move {", "}).await"),
        None => ("(move || {", "})())"),
    };
    let begin = format!("{}.instrument({begin}", probe(spec, marks));
    let mut insertions = function.at_start_of(function.body, "enter", &begin);
    insertions.extend(function.at_end_of(function.body, "leave", end));
    function.in_file(insertions)
}

fn probe(spec: &SiteSpec, marks: Option<&Marks<'_>>) -> String {
    let site = spec.inserted();
    match marks {
        Some(marks) => format!(
            "::poll_probe::Probe::new({site}).children(&[{}])",
            marks.quoted_children()
        ),
        None => format!("::poll_probe::Probe::unmarked({site})"),
    }
}

/// The future that a connection becomes a task with, where it is handed to the executor.
pub(crate) struct Spawned<'a> {
    function: FoundFunction<'a>,
    call: &'a ExprMethodCall,
}

impl<'a> Spawned<'a> {
    /// Looks for the place in that function of that type.
    pub(crate) fn locate(
        parsed: &'a ParsedCrate,
        (owner, name): (&str, &str),
    ) -> Result<Spawned<'a>, Refused> {
        let functions: Vec<FoundFunction<'a>> = parsed.functions(Some(owner), name).collect();
        let place = SourcePlace {
            package: parsed.id.clone(),
            file: "src".to_owned(),
            function: format!("{owner}::{name}"),
        };
        let found: Vec<&FoundFunction<'_>> = functions.iter().collect();
        let function = only_one(&place, "one function", &found, |it| {
            it.signature.ident.span()
        })?;
        let spawns = picked(
            |finder| finder.visit_block(function.body),
            |expr| match expr {
                Expr::MethodCall(call) if call.method == "spawn" && call.args.len() == 1 => {
                    Some(call)
                }
                _ => None,
            },
        );
        let looked_for = "one `.spawn(FUTURE)`";
        let call = only_one(&function.place, looked_for, &spawns, Spanned::span)?;
        Ok(Spawned {
            function: function.clone(),
            call,
        })
    }

    pub(crate) fn made_by(&self, parsed: &'a ParsedCrate) -> Option<FoundFunction<'a>> {
        let callees = picked(
            |finder| finder.visit_expr(&self.call.args[0]),
            |expr| match expr {
                Expr::Call(call) => callee(call),
                _ => None,
            },
        );
        let named = |(_, name): (_, &Ident)| parsed.only_function(None, &name.to_string());
        callees.into_iter().filter_map(named).find(is_future)
    }

    pub(crate) fn wrapped(
        &self,
        spec: &SiteSpec,
        marks: Option<&Marks<'_>>,
    ) -> Vec<(&'a ParsedFile, Insertion)> {
        let at = bytes(&self.call.args[0]);
        let begin = format!("{}.instrument(", probe(spec, marks));
        let begin = self.function.within(at.start, "enter", begin);
        let end = self.function.within(at.end, "leave", ")".to_owned());
        self.function.in_file(vec![begin, end])
    }
}

#[cfg(feature = "subjects")]
impl<'a> Spawned<'a> {
    pub(crate) fn file(&self) -> &'a ParsedFile {
        self.function.file
    }

    /// Makes the future the argument of a call. The line breaks stay, as `rustfmt` has them.
    pub(crate) fn within(&self, begin: &str) -> [Insertion; 2] {
        let paren = self.call.paren_token.span;
        let within = |byte, text: &str| self.function.within(byte, "budget", text.to_owned());
        [
            within(bytes(&paren.open()).end, begin),
            within(bytes(&paren.close()).start, ")"),
        ]
    }
}
