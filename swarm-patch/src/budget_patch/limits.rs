//! The lines that end a poll: a constant, a counter or a clock, and an early return. `inserted/limits.txt` has their texts.

use run_format::{Budget, Limit, Wake};
use syn::{Item, UseTree};

use crate::error::Refused;
use crate::locate::FoundFunction;
use crate::sites::{LoopShape, SiteSpec};

/// The lines of a patch, with a field for each place where lines go.
pub(super) struct LimitLines {
    pub(super) item: String,
    pub(super) before_loop: String,
    pub(super) in_loop: String,
    /// The words of the changelog that say when the function yields.
    pub(super) when: String,
    /// The unit test's assertion about the work of two polls. `WORK` stands for the work that the test counts.
    pub(super) two_polls: &'static str,
}

impl LimitLines {
    /// The names of the inserted variables, which the function itself must not use.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        let lines = self.before_loop.lines();
        let made = lines.filter_map(|line| line.strip_prefix("let "));
        made.filter_map(|variable| variable.trim_start_matches("mut ").split(' ').next())
    }
}

/// Makes the lines of a budget. In a poll function, the names of the inserted variables begin with `prefix`.
pub(super) fn lines(
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    budget: Budget,
    prefix: &str,
) -> Result<LimitLines, Refused> {
    let cx = match spec.shape {
        LoopShape::Poll { .. } => function.context().map(|(cx, _)| cx.to_string()),
        LoopShape::Task { .. } => None,
        LoopShape::BoundedInside(_) | LoopShape::FutureWithCalls(_) => {
            let looked_for = "a loop without a bound";
            let found = "bounds of its own";
            return Err(Refused::new(&function.place, looked_for, found));
        }
    };
    let is_poll = cx.is_some();
    let (kind, limit, when) = limit_texts(budget.limit, is_poll);
    let mut values = vec![
        ("cx", cx.unwrap_or_default()),
        ("duration", imported(function, "std::time::Duration")),
        ("has_tokio", has_tokio(spec).to_owned()),
        ("instant", imported(function, "web_time::Instant")),
        ("limit", limit),
        ("path", spec.function.to_owned()),
        ("poll", imported(function, "std::task::Poll")),
        ("poll_fn", imported(function, "std::future::poll_fn")),
        ("prefix", prefix.to_owned()),
    ];
    let shape = if is_poll { "poll" } else { "task" };
    let wake = match budget.wake {
        Wake::Immediate => "at once",
        Wake::Deferred => "deferred",
    };
    let yields = filled(part(TEXTS, "=== ", &format!("{wake}, {shape}")), &values);
    let indented: Vec<String> = yields.lines().map(|line| format!("    {line}")).collect();
    values.push(("yields", indented.join("\n")));
    let texts = part(TEXTS, "=== ", &format!("{kind}, {shape}"));
    let text = |place: &str| filled(part(texts, "--- ", place), &values);
    Ok(LimitLines {
        item: text("item"),
        before_loop: text("before the loop"),
        in_loop: text("in the loop"),
        when,
        two_polls: match (budget.limit, spec.name) {
            // The first ping of the connection is an iteration, too.
            (Limit::Count(_), "muxer") => "assert!(WORK <= 2 * MAX_ITERATIONS_PER_POLL)",
            (Limit::Count(_), "task") => "assert_eq!(WORK, 2 * MAX_EVENTS_BEFORE_YIELD)",
            (Limit::Count(_), _) => "assert_eq!(WORK, 2 * MAX_ITERATIONS_PER_POLL)",
            _ => "assert!(WORK > 0)",
        },
    })
}

const TEXTS: &str = include_str!("inserted/limits.txt");

/// The part of a text below a heading, if there is one. `mark` begins every heading of the same level.
pub(super) fn find_part<'t>(text: &'t str, mark: &str, heading: &str) -> Option<&'t str> {
    let mut parts = text.split(mark);
    parts.find_map(|part| part.strip_prefix(heading)?.strip_prefix('\n'))
}

/// The part of a text below a heading that every such text has.
pub(super) fn part<'t>(text: &'t str, mark: &str, heading: &str) -> &'t str {
    find_part(text, mark, heading).unwrap_or_else(|| panic!("the texts have no part {heading:?}"))
}

/// Replaces each `{{name}}` in a text by the value of the name.
pub(super) fn filled(text: &str, values: &[(&str, String)]) -> String {
    let fill = |text: String, (name, value): &(&str, String)| {
        text.replace(&format!("{{{{{name}}}}}"), value)
    };
    values.iter().fold(text.to_owned(), fill)
}

/// The kind of a limit, its number as code, and the words that say when a function yields.
fn limit_texts(limit: Limit, is_poll: bool) -> (&'static str, String, String) {
    match limit {
        Limit::Count(count) => {
            let unit = if is_poll { "iteration" } else { "event" };
            let end = if count.get() == 1 { "" } else { "s" };
            (
                "count",
                count.to_string(),
                format!("after {count} {unit}{end}"),
            )
        }
        Limit::Time(time) => {
            let code = match time.as_nanos() {
                ns if ns % 1_000_000 == 0 => format!("from_millis({})", ns / 1_000_000),
                ns if ns % 1_000 == 0 => format!("from_micros({})", ns / 1_000),
                ns => format!("from_nanos({ns})"),
            };
            ("time", code, format!("after {time:?}"))
        }
        Limit::Coop => {
            let when = "when tokio's cooperative budget is spent".to_owned();
            ("coop", String::new(), when)
        }
    }
}

/// The condition, for `cfg`, under which the crate has tokio.
pub(super) fn has_tokio(spec: &SiteSpec) -> &'static str {
    match spec.package {
        "yamux" => "feature = \"tokio\"",
        // Upstream has this condition before its own executor.
        _ => {
            "all(\n    feature = \"tokio\",\n    not(any(target_os = \"emscripten\", target_os = \"wasi\", target_os = \"unknown\"))\n)"
        }
    }
}

/// The code that names an item: its bare name if the file imports it, otherwise its whole path.
fn imported(function: &FoundFunction<'_>, whole: &str) -> String {
    fn has(tree: &UseTree, name: &str) -> bool {
        match tree {
            UseTree::Path(path) => has(&path.tree, name),
            UseTree::Group(group) => group.items.iter().any(|tree| has(tree, name)),
            UseTree::Name(import) => import.ident == name,
            UseTree::Rename(import) => import.rename == name,
            _ => false,
        }
    }
    let name = whole.rsplit(':').next().unwrap_or(whole);
    let imports_name = |item: &Item| matches!(item, Item::Use(import) if has(&import.tree, name));
    let is_imported = function.file.tree.items.iter().any(imports_name);
    if is_imported { name } else { whole }.to_owned()
}
