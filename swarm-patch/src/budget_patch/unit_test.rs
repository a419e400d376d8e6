//! The unit test of a patch. `inserted/unit_tests.txt` has the texts.

use run_format::{Budget, Limit};
use syn::Item;

use super::limits::{LimitLines, filled, find_part, has_tokio, part};
use crate::graft::Graft;
use crate::locate::{FoundFunction, bytes};
use crate::sites::SiteSpec;

/// Adds the test to the tests of the function's file, and changes a test of upstream's that fails under a budget.
pub(super) fn add(
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    budget: Budget,
    limit: &LimitLines,
    patch: &mut Graft,
) {
    let file = function.file;
    let tests = file.tree.items.iter().find_map(|item| match item {
        Item::Mod(module) if module.ident == "tests" => module.content.as_ref(),
        _ => None,
    });
    let indent = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!("    {line}\n"),
    };
    let test: String = text(spec, budget, limit).lines().map(indent).collect();
    let (line, text) = match tests {
        Some((brace, _)) => {
            let end = bytes(&brace.span.close()).start;
            (function.line_number(end), format!("\n{test}"))
        }
        None => {
            let imports = text_part(spec, "imports");
            let module = format!("\n#[cfg(test)]\nmod tests {{\n{imports}\n{test}}}\n");
            (file.text.lines().count() + 1, module)
        }
    };
    patch.add_lines(spec, file.named(), line, &text);
    add_to_other_test(function, spec, patch);
}

fn text(spec: &SiteSpec, budget: Budget, limit: &LimitLines) -> String {
    let is_coop = budget.limit == Limit::Coop;
    let is_timed = matches!(budget.limit, Limit::Time(_));
    // Tokio's budget is unlimited outside of its runtime.
    let block_on = match is_coop {
        true => "block on, coop",
        false => "block on",
    };
    // Only the test of the muxer blocks on a future.
    let block_on = find_part(texts(spec), "--- ", block_on).unwrap_or_default();
    let (begin, end) = if is_timed { ("timed(", ")") } else { ("", "") };
    let cfg = is_coop.then(|| format!("#[cfg({})]\n", has_tokio(spec)));
    let work = text_part(spec, "work").trim_end();
    let values = [
        ("begin", begin.to_owned()),
        ("block_on", block_on.trim_end().to_owned()),
        ("cfg", cfg.unwrap_or_default()),
        ("end", end.to_owned()),
        ("two_polls", limit.two_polls.replace("WORK", work)),
    ];
    filled(text_part(spec, "test"), &values)
}

/// One part of the texts for a site.
fn text_part(spec: &SiteSpec, heading: &str) -> &'static str {
    part(texts(spec), "--- ", heading)
}

fn texts(spec: &SiteSpec) -> &'static str {
    part(include_str!("inserted/unit_tests.txt"), "=== ", spec.name)
}

/// Gives a test of upstream's, which counts the streams that one poll accepts, as many polls as may be needed.
fn add_to_other_test(function: &FoundFunction<'_>, spec: &SiteSpec, patch: &mut Graft) {
    let (file, text) = (function.file, &function.file.text);
    let place = || {
        let test = text.find("fn max_negotiating_inbound_streams()")?;
        let poll = text[test..].find("let result = connection.poll_noop_waker();")?;
        Some(function.line_number(test + poll))
    };
    if let Some(line) = place() {
        let polls = text_part(spec, "other test");
        patch.add_lines(spec, file.named(), line, polls);
    }
}
