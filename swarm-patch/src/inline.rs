//! The inner level of a function that polls in a loop, and of the methods that it hands its context to.
//!
//! The call of a child becomes `(probe.child(0), CALL, probe.child_ended()).1`. This has the value of the call and keeps the
//! temporaries of the call as long. It also moves the value, which may be large. So where the value goes to a `match`, the
//! mark before the call is in the argument of the call, `{ probe.child(0); &mut *cx }`, and the mark after the call is in
//! the guard of a first arm that is never taken. If the call returns `Pending`, the next mark ends the child's time.
//!
//! An iteration is one repetition of any loop that polls. A budget ends a loop if no other loop polls, and if the loop can
//! be left without losing something (see [`early_return`]).

mod calls;
mod visit;

use std::ops::Range;

use quote::ToTokens;
use syn::visit::Visit;
use syn::{Block, Ident};

use crate::early_return;
use crate::error::Refused;
use crate::idents::{idents, refuse_other_closures, refuse_other_contexts, refuse_taken_name};
use crate::inner::{Marks, PROBE};
use crate::insertion::Mark;
use crate::locate::{FoundFunction, ParsedCrate, bytes};
use crate::methods;
use crate::sites::Level;

/// How the marks reach the invocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The invocation is a variable of the function.
    Variable,
    /// The future lends the invocation to the thread.
    Lent,
}

impl Access {
    /// The code that calls a function of the invocation, up to its arguments.
    fn call(self, function: &str) -> String {
        match self {
            Access::Variable => format!("{PROBE}.{function}"),
            Access::Lent => format!("::poll_probe::{function}"),
        }
    }
}

/// The first arm of a `match`, whose guard marks the end of the matched call.
struct Arms {
    /// The call that gives the matched value, in bytes.
    polled: Range<usize>,
    /// The byte at which the first arm begins.
    begin: usize,
    /// The pattern of the arm. It matches the values after which the arm ends the time of the call. After `Poll::Pending`
    /// the next call nearly always comes at once, and its mark ends the time, which saves a reading of the clock.
    pattern: &'static str,
}

/// The state of the walk through one function.
struct Walk<'w, 'a> {
    function: &'w FoundFunction<'a>,
    access: Access,
    /// The names of the methods that are part of the site.
    methods: &'w [&'a Ident],
    marks: &'w mut Marks<'a>,
    /// The context at the place in the code. An `async` function has none.
    cx: Option<Ident>,
    /// The bytes of the contexts that the marks know of.
    contexts: Vec<usize>,
    /// The names of all contexts.
    names: Vec<Ident>,
    /// The `match` whose expression is visited.
    arms: Option<Arms>,
    /// The number of loops that poll.
    loops: usize,
    /// Whether repetitions of the function's loops are iterations.
    counts: bool,
    /// Whether the site has one loop, which a budget can end.
    is_bounded: bool,
    refused: Option<Refused>,
}

impl Walk<'_, '_> {
    fn within(&mut self, byte: usize, mark: Mark, text: impl Into<String>) {
        let insertion = self.function.within(byte, mark, text);
        self.marks.insertions.push(insertion);
    }

    /// Marks the iterations of a loop, if it polls.
    fn mark_iterations(&mut self, whole: &impl ToTokens, body: &Block) {
        if !self.counts || !polls(whole, self.cx.as_ref()) {
            return;
        }
        self.loops += 1;
        let iterate = self.access.call("iterate");
        let leave = "return ::core::task::Poll::Pending;";
        let (mark, text) = match (self.is_bounded, &self.cx) {
            (false, _) => (Mark::Count, format!("{}();", self.access.call("count"))),
            (true, None) => (Mark::Iterate, format!("{iterate}().await;")),
            (true, Some(cx)) => (
                Mark::Iterate,
                format!("if {iterate}({cx}).is_pending() {{ {leave} }}"),
            ),
        };
        let marked = self.function.at_start_of(body, mark, &text);
        self.marks.insertions.extend(marked);
    }
}

/// Whether code polls a child with the context or, in an `async` function, awaits one.
fn polls(code: &impl ToTokens, cx: Option<&Ident>) -> bool {
    idents(code).iter().any(|ident| match cx {
        Some(cx) => ident == cx,
        None => ident == "await",
    })
}

/// Makes the marks of a function, and of the methods that it hands its context to. If `loop_in` names one of them, only
/// repetitions of that method's loops are iterations.
pub(crate) fn marks<'a>(
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    access: Access,
    loop_in: Option<&str>,
) -> Result<Marks<'a>, Refused> {
    let parts = match access {
        Access::Variable => methods::with_methods(parsed, function),
        Access::Lent => vec![function.clone()],
    };
    let counts = |part: &FoundFunction<'_>| loop_in.is_none_or(|name| part.signature.ident == name);
    let (mut marks, loops) = walk_all(&parts, access, counts, false)?;
    if loops == 0 {
        let name = &function.signature.ident;
        return Err(function.refused("a loop that polls", "none in the function", name));
    }
    let can_be_left = |part: &FoundFunction<'_>| {
        let cx = part.context().map(|(cx, _)| cx);
        let found = early_return::loop_that_can_return_early(part);
        counts(part) && found.is_some_and(|found| polls(found, cx))
    };
    if loops == 1 && parts.iter().any(can_be_left) {
        (marks, _) = walk_all(&parts, access, counts, true)?;
    } else {
        let looked_for = "one loop, which can be left without losing what it has in hand";
        marks.budget = Level::from(&Refused::new(&function.place, looked_for, "none"));
    }
    Ok(marks)
}

/// Makes the marks of the functions of a site. Returns the number of loops that poll, too. `counts` says whether
/// repetitions of a function's loops are iterations.
fn walk_all<'a>(
    parts: &[FoundFunction<'a>],
    access: Access,
    counts: impl Fn(&FoundFunction<'_>) -> bool,
    is_bounded: bool,
) -> Result<(Marks<'a>, usize), Refused> {
    let methods: Vec<&Ident> = parts[1..]
        .iter()
        .map(|part| &part.signature.ident)
        .collect();
    let (mut marks, mut loops) = (Marks::default(), 0);
    for (number, part) in parts.iter().enumerate() {
        let context = part.context();
        if access == Access::Variable {
            refuse_taken_name(part, PROBE)?;
        }
        if let (Some((_, parameter)), true) = (context, number > 0) {
            let text = format!(", {PROBE}: &mut ::poll_probe::Invocation");
            let insertion = part.within(bytes(parameter).end, Mark::Pass, text);
            marks.insertions.push(insertion);
        }
        let cx = context.map(|(cx, _)| cx.clone());
        let mut walk = Walk {
            contexts: Vec::new(),
            names: cx.iter().cloned().collect(),
            cx,
            function: part,
            access,
            methods: &methods,
            marks: &mut marks,
            arms: None,
            loops: 0,
            counts: counts(part),
            is_bounded,
            refused: None,
        };
        walk.visit_block(part.body);
        if let Some(refused) = walk.refused {
            return Err(refused);
        }
        loops += walk.loops;
        for name in &walk.names {
            refuse_other_contexts(part, name, &walk.contexts)?;
        }
        if access == Access::Lent {
            refuse_other_closures(part, walk.names.len())?;
        }
    }
    Ok((marks, loops))
}
