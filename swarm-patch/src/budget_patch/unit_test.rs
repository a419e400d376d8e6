//! The unit test that a change brings along.

use run_format::{Budget, Limit};
use syn::Item;

use super::limits::{LimitLines, has_tokio};
use crate::{
    insertion::Insertion,
    locate::{FoundFunction, bytes},
    sites::SiteSpec,
};

/// The test, in the tests of the function's file, and what other tests need under a budget.
pub(super) fn lines(
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    budget: Budget,
    limit: &LimitLines,
) -> Vec<Insertion> {
    let test = text(spec, budget, limit);
    let tests = function.file.tree.items.iter().find_map(|item| match item {
        Item::Mod(module) if module.ident == "tests" => module.content.as_ref(),
        _ => None,
    });
    let Some((brace, items)) = tests else {
        let indent = |line: &str| match line {
            "" => "\n".to_owned(),
            line => format!("    {line}\n"),
        };
        let test: String = test.lines().map(indent).collect();
        let module = format!(
            "\n#[cfg(test)]\nmod tests {{\n{}\n{test}}}\n",
            imports(spec)
        );
        let end = function.file.text.lines().count() + 1;
        return Insertion::of_budget(end, end, &module);
    };
    let like = items.first().map_or(0, |first| bytes(first).start);
    let end = function.line_number(bytes(&brace.span.close()).start);
    let like = function.line_number(like);
    let mut insertions = Insertion::of_budget(end, like, &format!("\n{test}"));
    insertions.extend(in_other_test(function));
    insertions
}

fn text(spec: &SiteSpec, budget: Budget, limit: &LimitLines) -> String {
    let is_coop = budget.limit == Limit::Coop;
    let is_timed = matches!(budget.limit, Limit::Time(_));
    let text = match spec.name {
        "connection" => include_str!("inserted/connection_test.rs"),
        "task" => include_str!("inserted/task_test.rs"),
        _ => include_str!("inserted/muxer_test.rs"),
    };
    let block_on = match is_coop {
        // Outside of tokio's runtime its budget is unlimited.
        true => {
            "tokio::runtime::Builder::new_current_thread()\n        .build()\n        .unwrap()\n        .block_on"
        }
        false => "futures::executor::block_on",
    };
    let (begin, end) = if is_timed { ("timed(", ")") } else { ("", "") };
    let mut text = text
        .replace("/*TASK*/", begin)
        .replace("/*END*/", end)
        .replace("/*BLOCK_ON*/", block_on);
    if is_coop {
        text = text.replace("#[t", &format!("#[cfg({})]\n#[t", has_tokio(spec)));
    }
    let (before, work) = text.split_once("//ASSERT ").unwrap_or((&text, ""));
    let (work, after) = work.split_once('\n').unwrap_or((work, ""));
    format!(
        "{before}{};\n{after}",
        limit.two_polls.replace("WORK", work)
    )
}

fn imports(spec: &SiteSpec) -> &'static str {
    match spec.name {
        "task" => {
            "    use std::task::{Context, Poll};\n\n    use futures::FutureExt;\n    use libp2p_core::muxing::StreamMuxerEvent;\n\n    use super::*;\n"
        }
        _ => "    use super::*;\n",
    }
}

/// A test of upstream's counts the streams that one poll accepts. It gets as many polls as may be needed.
fn in_other_test(function: &FoundFunction<'_>) -> Vec<Insertion> {
    let text = &function.file.text;
    let place = || {
        let test = text.find("fn max_negotiating_inbound_streams()")?;
        let poll = text[test..].find("let result = connection.poll_noop_waker();")?;
        Some(function.line_number(test + poll))
    };
    let polls = "\
// A poll may yield before it has accepted all streams.
for _ in 0..max_negotiating_inbound_streams {
    assert!(connection.poll_noop_waker().is_pending());
}

";
    place().map_or_else(Vec::new, |line| Insertion::of_budget(line, line, polls))
}
