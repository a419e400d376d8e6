//! The inner level of a function that polls in loops: of one or several, nested, with polls in conditions, in macros or
//! in functions that they call.
//!
//! A child becomes `(probe.child(0), CHILD, probe.own()).1`, which has the value of the child and keeps its
//! temporaries as long. That moves the value, which may be large. Where it goes to a `match`, the mark before the call
//! is in its argument, `{ probe.child(0); &mut *cx }`, and the one after it in the guard of a first arm that is never
//! taken. If it was pending, the next mark ends its time. An iteration is a turn of any loop that polls. A turn is counted before the condition of
//! a `while`, and in a `for` after its iterator has given something. A budget ends only loops that can be left
//! without losing something (see [`leave`]); it counts the turns of all.

mod calls;
mod loops;
mod visit;
mod walk;

use syn::visit::Visit;

pub(crate) use self::walk::Access;
use self::walk::{Scope, Walk};
use crate::error::Refused;
use crate::helpers::Helpers;
use crate::idents::{refuse_other_contexts, refuse_taken_name};
use crate::inner::{Marks, PROBE};
use crate::leave;
use crate::locate::{FoundFunction, ParsedCrate};

/// The marks of a function, and of those that it hands its context to. If `loop_in` names one of them, only turns of its
/// loops count.
pub(crate) fn marks<'a>(
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    access: Access,
    loop_in: Option<&str>,
) -> Result<Marks<'a>, Refused> {
    let mut helpers = Helpers::new(parsed, function, access == Access::Variable);
    let looked_for = "a loop that can be left without losing what it has in hand";
    let mut marks = Marks {
        cannot_be_left: Some(Refused::new(&function.place, looked_for, "none")),
        ..Marks::default()
    };
    let (mut loops, mut number) = (0, 0);
    // More are found on the way.
    while let Some(called) = helpers.found.get(number).cloned() {
        number += 1;
        let scope = Scope {
            cx: called.context().map(|(cx, _)| cx.clone()),
            awaits: called.context().is_none(),
            keeps: !called.returns_poll() || leave::is_given_something(&called),
        };
        if access == Access::Variable {
            refuse_taken_name(&called, PROBE)?;
        }
        marks.insertions.extend(helpers.parameter(&called));
        let mut walk = Walk {
            contexts: Vec::new(),
            names: scope.cx.iter().cloned().collect(),
            scope,
            function: &called,
            access,
            helpers: &mut helpers,
            marks: &mut marks,
            arms: None,
            loops: 0,
            counts: loop_in.is_none_or(|name| called.signature.ident == name),
            refused: None,
        };
        walk.visit_block(called.body);
        if let Some(refused) = walk.refused {
            return Err(refused);
        }
        loops += walk.loops;
        for name in &walk.names {
            refuse_other_contexts(&called, name, &walk.contexts)?;
        }
    }
    if loops == 0 {
        let looked_for = "a loop that polls";
        return Err(function.refused(
            looked_for,
            "none in the function",
            &function.signature.ident,
        ));
    }
    if loops == 1 {
        // The first turn of the only loop is the first iteration, which has no bound in any case.
        marks.insertions.retain(|(_, it)| it.mark != loops::ENTRY);
    }
    Ok(marks)
}
