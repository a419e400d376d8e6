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
        LoopShape::Poll { .. } => function.context().map(|(cx, _)| cx),
        LoopShape::Task { .. } => None,
        LoopShape::Passes(_) | LoopShape::Future(_) => {
            let looked_for = "a loop without a bound";
            let found = "bounds of its own";
            return Err(Refused::new(&function.place, looked_for, found));
        }
    };
    let yields = yields(function, spec, budget, cx);
    Ok(match budget.limit {
        Limit::Count(count) => counted(count, spec, cx.is_some(), &yields),
        Limit::Time(time) => timed(time, function, spec, cx.is_some(), &yields),
        Limit::Coop => coop(spec, cx),
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

/// What wakes the task and leaves a poll: at once, or deferred where the crate has tokio.
fn yields(
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    budget: Budget,
    cx: Option<&Ident>,
) -> String {
    let (deferred, at_once, leave) = if let Some(cx) = cx {
        let deferred = format!(
            "let _ = std::future::Future::poll(std::pin::pin!(tokio::task::yield_now()), {cx});"
        );
        let at_once = format!("{cx}.waker().wake_by_ref();");
        (deferred, at_once, "return Poll::Pending;")
    } else {
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
        ("tokio::task::yield_now().await;".to_owned(), at_once, "")
    };
    let has_tokio = has_tokio(spec);
    let wake = match budget.wake {
        Wake::Immediate => at_once,
        Wake::Deferred => format!(
            "// Tokio wakes the task after timers and I/O.\n#[cfg({has_tokio})]\n{deferred}\n\
             #[cfg(not({has_tokio}))]\n{at_once}"
        ),
    };
    let lines = wake.lines().chain(leave.lines());
    let lines: Vec<String> = lines.map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

fn counted(count: NonZeroU32, spec: &SiteSpec, is_poll: bool, yields: &str) -> LimitLines {
    let path = spec.function;
    let (variable, constant, means, unit) = if is_poll {
        let means = format!("How often the loop in [`{path}`] may run");
        ("iterations", "MAX_ITERATIONS_PER_POLL", means, "iteration")
    } else {
        let means = format!("How many events [`{path}`] handles");
        ("handled", "MAX_EVENTS_BEFORE_YIELD", means, "event")
    };
    // The counter of a task outlives its polls.
    let reset = if is_poll { "" } else { "    handled = 0;\n" };
    LimitLines {
        variables: vec![variable],
        item: format!(
            "/// {means} before it yields to the executor.\nconst {constant}: usize = {count};\n\n"
        ),
        before_loop: format!("let mut {variable} = 0;"),
        in_loop: format!(
            "// Let other tasks run once the budget is spent, and have us polled again.\n\
             if {variable} == {constant} {{\n{reset}{yields}\n}}\n{variable} += 1;\n\n"
        ),
        when: format!(
            "after {count} {unit}{}",
            if count.get() == 1 { "" } else { "s" }
        ),
        two_polls: match spec.name {
            // Its own first ping is an iteration too.
            "muxer" => format!("assert!(WORK <= 2 * {constant})"),
            _ => format!("assert_eq!(WORK, 2 * {constant})"),
        },
    }
}

fn timed(
    time: Duration,
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    is_poll: bool,
    yields: &str,
) -> LimitLines {
    let path = spec.function;
    let instant = imported(function, "Instant", "web_time::Instant");
    let duration = imported(function, "Duration", "std::time::Duration");
    let (amount, constructor) = match time.as_nanos() {
        ns if ns % 1_000_000 == 0 => (ns / 1_000_000, "from_millis"),
        ns if ns % 1_000 == 0 => (ns / 1_000, "from_micros"),
        ns => (ns, "from_nanos"),
    };
    let mut lines = LimitLines {
        variables: vec!["started", "has_iterated"],
        item: format!(
            "/// After how long the loop in [`{path}`] yields to the executor.\n\
             const MAX_TIME_PER_POLL: {duration} = {duration}::{constructor}({amount});\n\n"
        ),
        before_loop: format!("let started = {instant}::now();\nlet mut has_iterated = false;"),
        in_loop: format!(
            "// Let other tasks run once the time is up, and have us polled again.\n\
             if has_iterated && started.elapsed() >= MAX_TIME_PER_POLL {{\n{yields}\n}}\nhas_iterated = true;\n\n"
        ),
        when: format!("after {time:?}"),
        two_polls: "assert!(WORK > 0)".to_owned(),
    };
    if !is_poll {
        let poll_fn = imported(function, "poll_fn", "std::future::poll_fn");
        lines.variables.clear();
        lines.before_loop.clear();
        lines.in_loop = format!(
            "// Let other tasks run once the time is up, and have us polled again.\n\
             if POLL_STARTED.get().elapsed() >= MAX_TIME_PER_POLL {{\n{yields}\n}}\n\n"
        );
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
    }
    lines
}

fn coop(spec: &SiteSpec, cx: Option<&Ident>) -> LimitLines {
    let has_tokio = has_tokio(spec);
    let (variables, before_loop, in_loop) = if let Some(cx) = cx {
        let before_loop = format!("#[cfg({has_tokio})]\nlet mut has_iterated = false;");
        let in_loop = format!(
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
        );
        (vec!["has_iterated"], before_loop, in_loop)
    } else {
        let in_loop =
            format!("#[cfg({has_tokio})]\ntokio::task::coop::consume_budget().await;\n\n");
        (Vec::new(), String::new(), in_loop)
    };
    LimitLines {
        variables,
        item: String::new(),
        before_loop,
        in_loop,
        when: "when tokio's cooperative budget is spent".to_owned(),
        two_polls: "assert!(WORK > 0)".to_owned(),
    }
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
