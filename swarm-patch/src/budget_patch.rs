//! The budget alone, as the change that a maintainer would be asked to take: a constant, a counter
//! or a clock, and an early return. No probe.

use std::{num::NonZeroU32, time::Duration};

use anyhow::{Result, bail};
use poll_probe::{Budget, Budgets, Limit, Site, Wake};
use syn::{File, Item};

use crate::{
    crate_source::CrateSource,
    error::{Place, Refused},
    graft::{GraftedFile, edit},
    insertion::{Insertion, Purpose},
    locate::{Found, bytes, context_parameter, names_in, refuse_taken_name},
    sites::{SITES, Shape, SiteSpec},
    text::LineIndex,
};

/// The change that gives `source` those of the budgets that are for its sites.
pub fn files(source: &CrateSource, budgets: &Budgets) -> Result<Vec<GraftedFile>> {
    let bounded =
        |spec: &&SiteSpec| spec.package == source.name && budget_at(spec, budgets).is_some();
    edit(
        source,
        SITES.iter().filter(bounded),
        &|text, tree, found, spec, place| match budget_at(spec, budgets) {
            Some(budget) => lines(text, tree, found, spec, budget, place),
            None => Ok(Vec::new()),
        },
    )
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

/// Not every budget that can be measured can be proposed as a constant. Of the budgets, those for the
/// sites of `package` are looked at.
pub fn refuse_what_is_no_constant(package: &str, budgets: &Budgets) -> Result<()> {
    for spec in SITES.iter().filter(|spec| spec.package == package) {
        let Some(budget) = budget_at(spec, budgets) else {
            continue;
        };
        let reason = match (budget.limit, budget.wake, spec.shape) {
            (Limit::Coop, ..) => "the budget is tokio's, so there is no constant to propose",
            (_, Wake::Deferred, _) => {
                "the deferred wake is tokio's, and neither crate can count on tokio"
            }
            (Limit::Time(_), _, Shape::Task) => {
                "an async loop cannot tell how long the current poll of its task has run"
            }
            (Limit::Count(_), Wake::Immediate, _)
            | (Limit::Time(_), Wake::Immediate, Shape::Poll) => continue,
        };
        let name = spec.name();
        bail!(
            "--budget: \"{name}={budget}\" is no small patch: {reason} (accepted here: a count; at connection and muxer a time)"
        );
    }
    Ok(())
}

fn lines(
    text: &str,
    tree: &File,
    found: &Found<'_>,
    spec: &SiteSpec,
    budget: Budget,
    place: &Place,
) -> Result<Vec<Insertion>, Refused> {
    let imports = Imports::of(tree);
    let budget = match (budget.limit, spec.shape) {
        (Limit::Count(count), Shape::Poll) => {
            count_in_poll(count, spec, context_parameter(found.signature, place)?)
        }
        (Limit::Time(time), Shape::Poll) => time_in_poll(
            time,
            spec,
            context_parameter(found.signature, place)?,
            &imports,
        ),
        (Limit::Count(count), Shape::Task) => count_in_task(count, spec, &imports),
        (Limit::Time(_), Shape::Task) | (Limit::Coop, _) => Text::default(),
    };
    refuse_taken_name(found.body, budget.variable, place)?;
    let index = LineIndex::new(text);
    let item = index.number(bytes(found.item).start);
    let the_loop = index.number(bytes(found.the_loop).start);
    let in_loop = index.number(bytes(&found.the_loop.body.brace_token.span.open()).start) + 1;
    let places = [
        (item, budget.item),
        (the_loop, budget.before_loop),
        (in_loop, budget.in_loop),
    ];
    let insertion = |before: usize, text: String| Insertion {
        before,
        like: before,
        text,
        purpose: Purpose::Budget,
    };
    Ok(places
        .into_iter()
        .flat_map(|(before, texts)| texts.into_iter().map(move |text| insertion(before, text)))
        .collect())
}

/// The lines of a change, by where they go.
#[derive(Default)]
struct Text {
    variable: &'static str,
    item: Vec<String>,
    before_loop: Vec<String>,
    in_loop: Vec<String>,
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn count_in_poll(count: NonZeroU32, spec: &SiteSpec, cx: &syn::Ident) -> Text {
    Text {
        variable: "iterations",
        item: owned(&[
            &format!(
                "/// How often the loop in [`{}`] may run before it yields to the executor.",
                spec.function_path()
            ),
            &format!("const MAX_ITERATIONS_PER_POLL: usize = {count};"),
            "",
        ]),
        before_loop: owned(&["let mut iterations = 0;"]),
        in_loop: owned(&[
            "// Let other tasks run once the budget is spent, and have us polled again.",
            "if iterations == MAX_ITERATIONS_PER_POLL {",
            &format!("    {cx}.waker().wake_by_ref();"),
            "    return Poll::Pending;",
            "}",
            "iterations += 1;",
            "",
        ]),
    }
}

fn time_in_poll(time: Duration, spec: &SiteSpec, cx: &syn::Ident, imports: &Imports) -> Text {
    let duration = imports.path("Duration", "std::time::Duration");
    let instant = imports.path("Instant", "web_time::Instant");
    let (amount, constructor) = match time.as_nanos() {
        ns if ns % 1_000_000 == 0 => (ns / 1_000_000, "from_millis"),
        ns if ns % 1_000 == 0 => (ns / 1_000, "from_micros"),
        ns => (ns, "from_nanos"),
    };
    Text {
        variable: "started",
        item: owned(&[
            &format!(
                "/// After how long the loop in [`{}`] yields to the executor.",
                spec.function_path()
            ),
            &format!("const MAX_TIME_PER_POLL: {duration} = {duration}::{constructor}({amount});"),
            "",
        ]),
        before_loop: owned(&[
            &format!("let started = {instant}::now();"),
            "let mut has_iterated = false;",
        ]),
        in_loop: owned(&[
            "// Let other tasks run once the time is up, and have us polled again.",
            "if has_iterated && started.elapsed() >= MAX_TIME_PER_POLL {",
            &format!("    {cx}.waker().wake_by_ref();"),
            "    return Poll::Pending;",
            "}",
            "has_iterated = true;",
            "",
        ]),
    }
}

fn count_in_task(count: NonZeroU32, spec: &SiteSpec, imports: &Imports) -> Text {
    let poll = imports.path("Poll", "std::task::Poll");
    let poll_fn = imports.path("poll_fn", "std::future::poll_fn");
    Text {
        variable: "handled",
        item: owned(&[
            &format!(
                "/// How many events [`{}`] handles before it yields to the executor.",
                spec.function_path()
            ),
            &format!("const MAX_EVENTS_BEFORE_YIELD: usize = {count};"),
            "",
        ]),
        before_loop: owned(&["let mut handled = 0;"]),
        in_loop: owned(&[
            "// Let other tasks run once the budget is spent, and have us polled again.",
            "if handled == MAX_EVENTS_BEFORE_YIELD {",
            "    handled = 0;",
            "    let mut yielded = false;",
            &format!("    {poll_fn}(|cx| {{"),
            "        if yielded {",
            &format!("            return {poll}::Ready(());"),
            "        }",
            "        yielded = true;",
            "        cx.waker().wake_by_ref();",
            &format!("        {poll}::Pending"),
            "    })",
            "    .await;",
            "}",
            "handled += 1;",
            "",
        ]),
    }
}

/// The names that a file imports.
struct Imports(Vec<String>);

impl Imports {
    fn of(tree: &File) -> Imports {
        let mut names = Vec::new();
        for item in &tree.items {
            if let Item::Use(import) = item {
                names_in(&import.tree, &mut names);
            }
        }
        Imports(names)
    }

    /// The bare name where it is imported, else the whole path.
    fn path<'n>(&self, name: &'n str, whole: &'n str) -> &'n str {
        if self.0.iter().any(|imported| imported == name) {
            name
        } else {
            whole
        }
    }
}
