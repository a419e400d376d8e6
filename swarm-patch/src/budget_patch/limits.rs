//! The lines that end a poll: a constant, a counter or a clock, and an early return.

use std::{num::NonZeroU32, time::Duration};

use run_format::{Budget, Limit, Wake};
use syn::{Ident, Item, UseTree};

use crate::{
    error::Refused,
    locate::FoundFunction,
    sites::{LoopShape, SiteSpec},
};

/// The lines of a change, by where they go.
#[derive(Default)]
pub(super) struct LimitLines {
    /// The names that the function must not use itself.
    pub(super) variables: Vec<&'static str>,
    pub(super) item: String,
    pub(super) before_loop: String,
    pub(super) in_loop: String,
    /// When the function yields, for the changelog.
    pub(super) when: String,
    /// How much work the unit test may count in two polls, as a condition of `WORK`.
    pub(super) two_polls: String,
}

pub(super) fn lines(
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    budget: Budget,
) -> Result<LimitLines, Refused> {
    // Of a poll function. The function of a task has none.
    let cx = match spec.shape {
        LoopShape::Poll => function.context().map(|(cx, _)| cx),
        LoopShape::Task { .. } => None,
        LoopShape::Passes { .. } | LoopShape::Future { .. } => {
            let looked_for = "a loop without a bound";
            return Err(function.place.refused(looked_for, "bounds of its own"));
        }
    };
    let path = spec.function_path();
    let yields = match cx {
        Some(cx) => yield_in_poll(cx, spec, budget),
        None => yield_in_task(function, spec, budget),
    };
    Ok(match (budget.limit, cx) {
        (Limit::Count(count), Some(_)) => LimitLines {
            two_polls: match spec.name {
                // Its own first ping is an iteration too.
                "muxer" => "assert!(WORK <= 2 * MAX_ITERATIONS_PER_POLL)".to_owned(),
                _ => "assert_eq!(WORK, 2 * MAX_ITERATIONS_PER_POLL)".to_owned(),
            },
            ..count_in_poll(count, &path, &yields)
        },
        (Limit::Count(count), None) => count_in_task(count, &path, &yields),
        (Limit::Time(time), Some(_)) => time_in_poll(time, &path, function, &yields),
        (Limit::Time(time), None) => time_in_task(time, &path, function, &yields),
        (Limit::Coop, Some(cx)) => coop_in_poll(cx, spec),
        (Limit::Coop, None) => LimitLines {
            in_loop: format!(
                "#[cfg({})]\ntokio::task::coop::consume_budget().await;\n\n",
                has_tokio(spec)
            ),
            ..coop()
        },
    })
}

/// The condition under which the crate has tokio.
pub(super) fn has_tokio(spec: &SiteSpec) -> &'static str {
    match spec.package {
        "yamux" => "feature = \"tokio\"",
        // As upstream has it before its own executor.
        _ => {
            "all(\n    feature = \"tokio\",\n    not(any(target_os = \"emscripten\", target_os = \"wasi\", target_os = \"unknown\"))\n)"
        }
    }
}

/// What wakes the task at once, or `deferred` if the wake is deferred and the crate has tokio.
fn wake(spec: &SiteSpec, budget: Budget, deferred: &str, at_once: &str) -> String {
    if budget.wake == Wake::Immediate {
        return at_once.to_owned();
    }
    let has_tokio = has_tokio(spec);
    format!(
        "// Tokio wakes the task after timers and I/O.\n#[cfg({has_tokio})]\n{deferred}\n\
         #[cfg(not({has_tokio}))]\n{at_once}"
    )
}

fn yield_in_poll(cx: &Ident, spec: &SiteSpec, budget: Budget) -> String {
    let deferred = format!(
        "let _ = std::future::Future::poll(std::pin::pin!(tokio::task::yield_now()), {cx});"
    );
    let at_once = format!("{cx}.waker().wake_by_ref();");
    let wake = wake(spec, budget, &deferred, &at_once);
    indented(&format!("{wake}\nreturn Poll::Pending;"))
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

fn count_in_poll(count: NonZeroU32, path: &str, yields: &str) -> LimitLines {
    LimitLines {
        variables: vec!["iterations"],
        item: format!(
            "/// How often the loop in [`{path}`] may run before it yields to the executor.\n\
             const MAX_ITERATIONS_PER_POLL: usize = {count};\n\n"
        ),
        before_loop: "let mut iterations = 0;".to_owned(),
        in_loop: format!(
            "// Let other tasks run once the budget is spent, and have us polled again.\n\
             if iterations == MAX_ITERATIONS_PER_POLL {{\n{yields}\n}}\niterations += 1;\n\n"
        ),
        when: format!("after {count} iteration{}", plural(count)),
        ..LimitLines::default()
    }
}

fn time_in_poll(
    time: Duration,
    path: &str,
    function: &FoundFunction<'_>,
    yields: &str,
) -> LimitLines {
    let instant = imported(function, "Instant", "web_time::Instant");
    LimitLines {
        variables: vec!["started", "has_iterated"],
        before_loop: format!("let started = {instant}::now();\nlet mut has_iterated = false;"),
        in_loop: format!(
            "// Let other tasks run once the time is up, and have us polled again.\n\
             if has_iterated && started.elapsed() >= MAX_TIME_PER_POLL {{\n{yields}\n}}\nhas_iterated = true;\n\n"
        ),
        ..max_time(time, path, function)
    }
}

fn max_time(time: Duration, path: &str, function: &FoundFunction<'_>) -> LimitLines {
    let duration = imported(function, "Duration", "std::time::Duration");
    let (amount, constructor) = match time.as_nanos() {
        ns if ns % 1_000_000 == 0 => (ns / 1_000_000, "from_millis"),
        ns if ns % 1_000 == 0 => (ns / 1_000, "from_micros"),
        ns => (ns, "from_nanos"),
    };
    LimitLines {
        item: format!(
            "/// After how long the loop in [`{path}`] yields to the executor.\n\
             const MAX_TIME_PER_POLL: {duration} = {duration}::{constructor}({amount});\n\n"
        ),
        when: format!("after {time:?}"),
        two_polls: "assert!(WORK > 0)".to_owned(),
        ..LimitLines::default()
    }
}

fn coop() -> LimitLines {
    LimitLines {
        when: "when tokio's cooperative budget is spent".to_owned(),
        two_polls: "assert!(WORK > 0)".to_owned(),
        ..LimitLines::default()
    }
}

fn coop_in_poll(cx: &Ident, spec: &SiteSpec) -> LimitLines {
    let has_tokio = has_tokio(spec);
    LimitLines {
        variables: vec!["has_iterated"],
        before_loop: format!("#[cfg({has_tokio})]\nlet mut has_iterated = false;"),
        in_loop: format!(
            "\
// Let other tasks run once tokio's budget is spent. Tokio has us polled again.
#[cfg({has_tokio})]
{{
    // The first iteration takes nothing.
    if tokio::task::coop::poll_proceed({cx})
        .map(|unit| has_iterated.then(|| unit.made_progress()))
        .is_pending()
    {{
        return Poll::Pending;
    }}
    has_iterated = true;
}}

"
        ),
        ..coop()
    }
}

fn count_in_task(count: NonZeroU32, path: &str, yields: &str) -> LimitLines {
    LimitLines {
        variables: vec!["handled"],
        item: format!(
            "/// How many events [`{path}`] handles before it yields to the executor.\n\
             const MAX_EVENTS_BEFORE_YIELD: usize = {count};\n\n"
        ),
        before_loop: "let mut handled = 0;".to_owned(),
        in_loop: format!(
            "// Let other tasks run once the budget is spent, and have us polled again.\n\
             if handled == MAX_EVENTS_BEFORE_YIELD {{\n    handled = 0;\n{yields}\n}}\nhandled += 1;\n\n"
        ),
        when: format!("after {count} event{}", plural(count)),
        two_polls: "assert_eq!(WORK, 2 * MAX_EVENTS_BEFORE_YIELD)".to_owned(),
    }
}

fn time_in_task(
    time: Duration,
    path: &str,
    function: &FoundFunction<'_>,
    yields: &str,
) -> LimitLines {
    let instant = imported(function, "Instant", "web_time::Instant");
    let poll_fn = imported(function, "poll_fn", "std::future::poll_fn");
    let mut lines = max_time(time, path, function);
    lines.item += &format!(
        "\
std::thread_local! {{
    /// When the current poll of a connection's task began.
    static POLL_STARTED: std::cell::Cell<{instant}> = std::cell::Cell::new({instant}::now());
}}

/// Runs `task`, and notes when each of its polls begins.
pub(crate) async fn timed<F: Future>(task: F) -> F::Output {{
    let mut task = std::pin::pin!(task);
    {poll_fn}(|cx| {{
        POLL_STARTED.set({instant}::now());
        task.as_mut().poll(cx)
    }})
    .await
}}

"
    );
    LimitLines {
        in_loop: format!(
            "// Let other tasks run once the time is up, and have us polled again.\n\
             if POLL_STARTED.get().elapsed() >= MAX_TIME_PER_POLL {{\n{yields}\n}}\n\n"
        ),
        ..lines
    }
}

fn yield_in_task(function: &FoundFunction<'_>, spec: &SiteSpec, budget: Budget) -> String {
    let poll = imported(function, "Poll", "std::task::Poll");
    let poll_fn = imported(function, "poll_fn", "std::future::poll_fn");
    let at_once = format!(
        "\
{{
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
}}"
    );
    let deferred = "tokio::task::yield_now().await;";
    indented(&wake(spec, budget, deferred, &at_once))
}

/// The bare name where the file imports it, else the whole path.
fn imported<'n>(function: &FoundFunction<'_>, name: &'n str, whole: &'n str) -> &'n str {
    fn has(tree: &UseTree, name: &str) -> bool {
        match tree {
            UseTree::Path(path) => has(&path.tree, name),
            UseTree::Group(group) => group.items.iter().any(|tree| has(tree, name)),
            UseTree::Name(import) => import.ident == name,
            UseTree::Rename(import) => import.rename == name,
            _ => false,
        }
    }
    let is_it = |item: &Item| matches!(item, Item::Use(import) if has(&import.tree, name));
    let is_imported = function.file.tree.items.iter().any(is_it);
    if is_imported { name } else { whole }
}

fn plural(count: NonZeroU32) -> &'static str {
    if count.get() == 1 { "" } else { "s" }
}
