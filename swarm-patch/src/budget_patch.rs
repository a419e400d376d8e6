//! The budget alone, as a change that a maintainer could take: a constant, a counter or a clock, and
//! an early return. It has no probe.

use std::{num::NonZeroU32, time::Duration};

use anyhow::{Result, bail};
use poll_probe::{Budget, Budgets, Limit, Site, Wake};
use syn::Ident;

use crate::{
    crate_source::CrateSource,
    error::Refused,
    graft::{Graft, GraftedFile},
    idents::refuse_taken_name,
    insertion::Insertion,
    locate::{FoundFunction, ParsedCrate, bytes},
    sites::{LoopShape, SITES, SiteSpec, sites_of},
};

/// The change that gives `source` the budgets of its sites.
pub fn files(source: &CrateSource, budgets: &Budgets) -> Result<Vec<GraftedFile>> {
    let parsed = ParsedCrate::read(source)?;
    let mut patch = Graft::default();
    for spec in sites_of(&source.name) {
        if let Some(budget) = budget_at(spec, budgets) {
            let function = parsed.locate(spec)?;
            let lines = lines(&function, spec, budget)?;
            patch.add(spec, function.in_file(lines));
        }
    }
    Ok(patch.files)
}

/// The packages that a change for these budgets would touch.
pub fn packages(budgets: &Budgets) -> Vec<&'static str> {
    let mut packages: Vec<&str> = SITES
        .iter()
        .filter(|spec| budget_at(spec, budgets).is_some())
        .map(|spec| spec.package)
        .collect();
    packages.dedup();
    packages
}

fn budget_at(spec: &SiteSpec, budgets: &Budgets) -> Option<Budget> {
    let site = spec.name().parse::<Site>().ok()?;
    budgets.at(site)
}

/// Refuses a budget at a site of `package` that can be measured but not proposed as a constant.
pub fn refuse_what_is_no_constant(package: &str, budgets: &Budgets) -> Result<()> {
    for spec in sites_of(package) {
        let Some(budget) = budget_at(spec, budgets) else {
            continue;
        };
        let reason = match (budget.limit, budget.wake, spec.shape) {
            (Limit::Coop, ..) => "the budget is tokio's, so there is no constant to propose",
            (_, Wake::Deferred, _) => {
                "the deferred wake is tokio's, and neither crate can count on tokio"
            }
            (Limit::Time(_), _, LoopShape::Task) => {
                "an async loop cannot tell how long the current poll of its task has run"
            }
            (Limit::Count(_), Wake::Immediate, _)
            | (Limit::Time(_), Wake::Immediate, LoopShape::Poll) => continue,
        };
        let name = spec.name();
        bail!(
            "--budget: \"{name}={budget}\" cannot be a small patch: {reason} (accepted here: a count; at connection and muxer a time)"
        );
    }
    Ok(())
}

fn lines(
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    budget: Budget,
) -> Result<Vec<Insertion>, Refused> {
    let path = spec.function_path();
    let the_loop = function.the_loop()?;
    let patch = match (budget.limit, spec.shape) {
        (Limit::Count(count), LoopShape::Poll) => {
            count_in_poll(count, &path, function.context_parameter()?)
        }
        (Limit::Time(time), LoopShape::Poll) => {
            time_in_poll(time, &path, function.context_parameter()?, function)
        }
        (Limit::Count(count), LoopShape::Task) => count_in_task(count, &path, function),
        (Limit::Time(_), LoopShape::Task) | (Limit::Coop, _) => return Ok(Vec::new()),
    };
    refuse_taken_name(function, patch.variable)?;
    let line = |offset: usize| function.lines.number(offset);
    // The constant goes before the item at the top level that is the function or contains it.
    let name = bytes(&function.signature.ident).start;
    let mut items = function.file.tree.items.iter().map(bytes);
    let item = items.find(|item| item.contains(&name));
    let loop_brace = the_loop.body.brace_token.span.open();
    let places = [
        (line(item.map_or(name, |item| item.start)), patch.item),
        (line(bytes(the_loop).start), patch.before_loop),
        (line(bytes(&loop_brace).start) + 1, patch.in_loop),
    ];
    let insertions = places.iter().flat_map(|(before, text)| {
        text.lines()
            .map(|line| Insertion::new(*before, "budget", line))
    });
    Ok(insertions.collect())
}

/// The lines of a change, by where they go.
struct BudgetPatch {
    variable: &'static str,
    item: String,
    before_loop: String,
    in_loop: String,
}

fn count_in_poll(count: NonZeroU32, path: &str, cx: &Ident) -> BudgetPatch {
    BudgetPatch {
        variable: "iterations",
        item: format!(
            "/// How often the loop in [`{path}`] may run before it yields to the executor.\n\
             const MAX_ITERATIONS_PER_POLL: usize = {count};\n\n"
        ),
        before_loop: "let mut iterations = 0;".to_owned(),
        in_loop: format!(
            "\
// Let other tasks run once the budget is spent, and have us polled again.
if iterations == MAX_ITERATIONS_PER_POLL {{
    {cx}.waker().wake_by_ref();
    return Poll::Pending;
}}
iterations += 1;

"
        ),
    }
}

fn time_in_poll(
    time: Duration,
    path: &str,
    cx: &Ident,
    function: &FoundFunction<'_>,
) -> BudgetPatch {
    let duration = imported(function, "Duration", "std::time::Duration");
    let instant = imported(function, "Instant", "web_time::Instant");
    let (amount, constructor) = match time.as_nanos() {
        ns if ns % 1_000_000 == 0 => (ns / 1_000_000, "from_millis"),
        ns if ns % 1_000 == 0 => (ns / 1_000, "from_micros"),
        ns => (ns, "from_nanos"),
    };
    BudgetPatch {
        variable: "started",
        item: format!(
            "/// After how long the loop in [`{path}`] yields to the executor.\n\
             const MAX_TIME_PER_POLL: {duration} = {duration}::{constructor}({amount});\n\n"
        ),
        before_loop: format!("let started = {instant}::now();\nlet mut has_iterated = false;"),
        in_loop: format!(
            "\
// Let other tasks run once the time is up, and have us polled again.
if has_iterated && started.elapsed() >= MAX_TIME_PER_POLL {{
    {cx}.waker().wake_by_ref();
    return Poll::Pending;
}}
has_iterated = true;

"
        ),
    }
}

fn count_in_task(count: NonZeroU32, path: &str, function: &FoundFunction<'_>) -> BudgetPatch {
    let poll = imported(function, "Poll", "std::task::Poll");
    let poll_fn = imported(function, "poll_fn", "std::future::poll_fn");
    BudgetPatch {
        variable: "handled",
        item: format!(
            "/// How many events [`{path}`] handles before it yields to the executor.\n\
             const MAX_EVENTS_BEFORE_YIELD: usize = {count};\n\n"
        ),
        before_loop: "let mut handled = 0;".to_owned(),
        in_loop: format!(
            "\
// Let other tasks run once the budget is spent, and have us polled again.
if handled == MAX_EVENTS_BEFORE_YIELD {{
    handled = 0;
    let mut yielded = false;
    {poll_fn}(|cx| {{
        if yielded {{
            return {poll}::Ready(());
        }}
        yielded = true;
        cx.waker().wake_by_ref();
        {poll}::Pending
    }})
    .await;
}}
handled += 1;

"
        ),
    }
}

/// The bare name where the file imports it, else the whole path.
fn imported<'n>(function: &FoundFunction<'_>, name: &'n str, whole: &'n str) -> &'n str {
    let is_imported = function
        .imports()
        .any(|(_, names)| names.iter().any(|imported| imported == name));
    if is_imported { name } else { whole }
}
