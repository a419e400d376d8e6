//! The outer level of a site: durations and outcomes, whatever the body of the function does.

use crate::error::Refused;
use crate::inner::{Marks, PROBE};
use crate::locate::{FoundFunction, InFile};
use crate::sites::{LoopShape, SiteSpec};

/// The lines around the body of a function. `marks` are those of its inner level.
pub(crate) fn around<'a>(
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
    marks: Option<&Marks<'_>>,
) -> Result<Vec<InFile<'a>>, Refused> {
    match spec.shape {
        LoopShape::Poll { .. } | LoopShape::BoundedInside(_) => around_poll(function, spec, marks),
        LoopShape::Task { .. } | LoopShape::FutureWithCalls(_) => {
            Ok(around_future(function, spec, marks))
        }
    }
}

/// Makes the body of a poll function a closure, so that each `return` leads to the same line.
fn around_poll<'a>(
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
        (LoopShape::BoundedInside(_), _) => {
            let begin =
                format!("::poll_probe::with_delegated_bounds({site}, &{children:?}, {closure}");
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

/// Makes the future of an `async` function an instrumented one.
fn around_future<'a>(
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
    marks: Option<&Marks<'_>>,
) -> Vec<InFile<'a>> {
    let site = spec.inserted();
    let probe = match marks {
        Some(Marks { children, .. }) => {
            format!("::poll_probe::Probe::new({site}).children(&{children:?})")
        }
        None => format!("::poll_probe::Probe::unmarked({site})"),
    };
    let begin = format!("{probe}.instrument(async move {{");
    function.around_body(&begin, "}).await")
}
