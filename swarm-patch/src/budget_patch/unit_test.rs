//! The unit test that a change brings along.

use run_format::{Budget, Limit};
use syn::Item;

use super::limits::{LimitLines, has_tokio};
use crate::{
    graft::Graft,
    locate::{FoundFunction, bytes},
    sites::SiteSpec,
};

/// Adds the test to the tests of the function's file, and what other tests need under a budget.
pub(super) fn add(
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    budget: Budget,
    limit: &LimitLines,
    patch: &mut Graft,
) {
    let (file, test) = (function.file, text(spec, budget, limit));
    let tests = file.tree.items.iter().find_map(|item| match item {
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
        let end = file.text.lines().count() + 1;
        return patch.add_lines(spec, file.named(), (end, end), &module);
    };
    let like = items.first().map_or(0, |first| bytes(first).start);
    let [end, like] =
        [bytes(&brace.span.close()).start, like].map(|byte| function.line_number(byte));
    patch.add_lines(spec, file.named(), (end, like), &format!("\n{test}"));
    add_to_other_test(function, spec, patch);
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
fn add_to_other_test(function: &FoundFunction<'_>, spec: &SiteSpec, patch: &mut Graft) {
    let (file, text) = (function.file, &function.file.text);
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
    if let Some(line) = place() {
        patch.add_lines(spec, file.named(), (line, line), polls);
    }
}
