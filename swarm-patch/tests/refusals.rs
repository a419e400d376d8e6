//! The graft refuses a source that is not as expected, with one sentence that says what and where.

mod scratch;

use scratch::{copy, folder, pristine_source, replace};
use swarm_patch::{crate_source::CrateSource, graft::graft};
use tempfile::TempDir;

/// A copy of a package in which one text is replaced.
fn changed(package: &str, file: &str, from: &str, to: &str) -> (TempDir, CrateSource) {
    let dir = folder();
    let source = copy(&pristine_source(package), dir.path());
    replace(&source, file, from, to);
    (dir, source)
}

fn refusal(package: &str, file: &str, from: &str, to: &str) -> String {
    let (_dir, source) = changed(package, file, from, to);
    let error = graft(&source).expect_err("it is not as expected");
    let text = format!("{error:#}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

const CONNECTION: &str = "src/connection.rs";

#[test]
fn a_loop_that_is_no_loop_any_more() {
    let text = refusal(
        "libp2p-swarm",
        CONNECTION,
        "        loop {\n            match requested",
        "        while true {\n            match requested",
    );
    assert_eq!(
        text,
        "libp2p-swarm 0.48.0, src/connection.rs, Connection::poll: looked for one `loop` among the statements of the function, found none"
    );
}

#[test]
fn a_second_loop() {
    let text = refusal(
        "yamux",
        CONNECTION,
        "        loop {\n            if self.socket.poll_ready_unpin",
        "        loop { break; }\n        loop {\n            if self.socket.poll_ready_unpin",
    );
    assert_eq!(
        text,
        "yamux 0.14.1, src/connection.rs, Active::poll: looked for one `loop` among the statements of the function, found 2: line 402 and line 403"
    );
}

#[test]
fn a_function_that_is_not_there() {
    let text = refusal(
        "libp2p-swarm",
        "src/lib.rs",
        "fn poll_next_event(",
        "fn poll_next_thing(",
    );
    assert_eq!(
        text,
        "libp2p-swarm 0.48.0, src/lib.rs, Swarm::poll_next_event: looked for one function Swarm::poll_next_event, found none"
    );
    let text = refusal(
        "libp2p-swarm",
        "src/connection/pool/task.rs",
        "async fn new_for_established_connection<",
        "async fn drive<",
    );
    assert!(
        text.contains("task.rs, new_for_established_connection: looked for one function"),
        "{text}"
    );
}

#[test]
fn two_functions_of_the_name() {
    let text = refusal(
        "yamux",
        CONNECTION,
        "impl<T> Active<T> {",
        "impl<T> Active<T> {\n    fn poll(&mut self) {\n        loop {}\n    }\n",
    );
    assert!(
        text.contains("looked for one function Active::poll, found 2: line "),
        "{text}"
    );
}

#[test]
fn a_file_that_is_not_there() {
    let dir = folder();
    let source = copy(&pristine_source("yamux"), dir.path());
    std::fs::remove_file(source.dir.join(CONNECTION)).expect("the copy is ours");
    let text = format!("{:#}", graft(&source).expect_err("the file is missing"));
    assert!(
        text.contains("src/connection.rs") && text.contains("looked for the file, found none"),
        "{text}"
    );
}

#[test]
fn a_context_that_is_not_handed_in() {
    let text = refusal(
        "yamux",
        CONNECTION,
        "fn poll(&mut self, cx: &mut Context<'_>)",
        "fn poll(&mut self, cx: &mut Other)",
    );
    assert!(
        text.contains("one parameter of type `&mut Context`, found none"),
        "{text}"
    );
}

#[test]
fn the_name_of_the_inserted_variable_in_use() {
    let text = refusal(
        "yamux",
        CONNECTION,
        "                if let Some(frame) = self.rtt.next_ping() {",
        "                let probe = 1;\n                if let Some(frame) = self.rtt.next_ping() {",
    );
    assert!(
        text.contains("no variable `probe`, found one in line 407"),
        "{text}"
    );
}

#[test]
fn what_whole_lines_cannot_mark() {
    for (replacement, complaint) in [
        (
            "            let _ = ready!(self.socket.poll_flush_unpin(cx))?;",
            "no macro that gets the context, found ready! in line 424",
        ),
        (
            "            let _ = (self.socket.poll_flush_unpin(cx)?, self.socket.poll_ready_unpin(cx));",
            "one poll at a time",
        ),
        (
            "            self.handle(self.socket.poll_flush_unpin(cx)?);",
            "a poll apart from the code that handles its result",
        ),
        (
            "            let _ = self.socket.poll_flush_unpin(cx).map(|()| self.expensive());",
            "a poll apart from the code that handles its result",
        ),
        (
            "            let _ = Some(match self.socket.poll_flush_unpin(cx)? {\n                _ => self.expensive(),\n            });",
            "a poll apart from the code that handles its result",
        ),
        (
            "            while self.socket.poll_flush_unpin(cx)?.is_ready() {}",
            "no poll in the condition of a `while`",
        ),
        (
            "            match () {\n                () if self.socket.poll_flush_unpin(cx)?.is_ready() => {}\n                () => {}\n            }",
            "no poll in the guard of a match arm",
        ),
        (
            "            if false {\n            } else if self.socket.poll_flush_unpin(cx)?.is_ready() {\n            }",
            "no poll in an `else if`",
        ),
        (
            "            let _ = 1; let _ = self.socket.poll_flush_unpin(cx)?;",
            "a line break before the marked code",
        ),
        (
            "            let _ = self.socket.poll_flush_unpin(cx)?; let _ = 1;",
            "a line break after the marked code",
        ),
        (
            "            return self.finish(cx);",
            "no way out of the function",
        ),
        (
            "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => {}\n                Poll::Pending => return Poll::Pending,\n            }",
            "no way out of the function",
        ),
    ] {
        let text = refusal("yamux", CONNECTION, FLUSH, replacement);
        assert!(text.contains(complaint), "{replacement}: {text}");
    }
}

const FLUSH: &str = "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => {}\n                Poll::Pending => {}\n            }";
const LOOP: &str = "        loop {\n            if self.socket.poll_ready_unpin";

#[test]
fn a_context_that_goes_where_no_mark_can_follow() {
    for replacement in [
        "            match self.socket.poll_flush_unpin(&mut *cx)? {\n                _ => {}\n            }",
        "            let cx2 = &mut *cx;\n            match self.socket.poll_flush_unpin(cx2)? {\n                _ => {}\n            }",
        "            let mut flush = || self.socket.poll_flush_unpin(cx);\n            let _ = flush()?;",
        "            let waker = cx.waker();\n            let _ = waker;",
        "            self.keep(cx.waker());",
        "            let _ = async { self.socket.poll_flush_unpin(cx) };",
        "            log::trace!(\"{:?}\", other!(cx));",
    ] {
        let text = refusal("yamux", CONNECTION, FLUSH, replacement);
        assert!(
            text.contains("except as an argument of the polls in the loop")
                && text.contains("another use in line 42")
                || text.contains("no macro that gets the context"),
            "{replacement}: {text}"
        );
    }
    let before = "        let _ = self.socket.poll_flush_unpin(cx)?;\n";
    let text = refusal("yamux", CONNECTION, LOOP, &format!("{before}{LOOP}"));
    assert!(text.contains("another use in line 402"), "{text}");
}

#[test]
fn a_context_of_the_functions_own() {
    let text = refusal(
        "yamux",
        CONNECTION,
        FLUSH,
        "            let _ = std::pin::pin!(self.socket.flush()).poll(&mut Context::from_waker(cx.waker()));",
    );
    assert!(text.contains("no way out of the function"), "{text}");
    let text = refusal(
        "yamux",
        CONNECTION,
        FLUSH,
        "            let waker = cx.waker().clone();\n            let _ = self.socket.poll_flush_unpin(&mut Context::from_waker(&waker));",
    );
    assert!(
        text.contains("looked for no context but `cx`, found one made in line 425"),
        "{text}"
    );
}

#[test]
fn a_loop_within_the_loop_that_polls() {
    for replacement in [
        "            loop {\n                match self.socket.poll_flush_unpin(cx)? {\n                    Poll::Ready(()) => continue,\n                    Poll::Pending => break,\n                }\n            }",
        "            for _ in 0..2 {\n                let _ = self.socket.poll_flush_unpin(cx)?;\n            }",
        "            while self.wants_more() {\n                let _ = self.socket.poll_flush_unpin(cx)?;\n            }",
        "            let _ = loop {\n                if self.socket.poll_flush_unpin(cx)?.is_ready() {\n                    break 1;\n                }\n            };",
        "            for _ in self.socket.poll_flush_unpin(cx)? {}",
    ] {
        let text = refusal("yamux", CONNECTION, FLUSH, replacement);
        assert!(
            text.contains("no poll in a loop within the loop"),
            "{replacement}: {text}"
        );
    }
}

#[test]
fn work_that_would_be_timed_with_the_poll_before_it() {
    let a_block = "a block around the code that handles the result of a poll";
    for (replacement, complaint) in [
        (
            "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => self.expensive(),\n                Poll::Pending => {}\n            }",
            a_block,
        ),
        (
            "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => match self.expensive() {\n                    () => {}\n                },\n                Poll::Pending => {}\n            }",
            a_block,
        ),
        (
            "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => return Poll::Ready(Err(self.expensive())),\n                Poll::Pending => {}\n            }",
            a_block,
        ),
        (
            "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) if self.expensive() => {}\n                _ => {}\n            }",
            a_block,
        ),
        (
            "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => { self.expensive() }\n                Poll::Pending => {}\n            }",
            "a line break after an opening brace",
        ),
        (
            "            if self.socket.poll_flush_unpin(cx)?.is_ready() {\n            } else if self.expensive() {\n            }",
            "no `else if` after a poll",
        ),
        (
            "            let Poll::Ready(()) = self.socket.poll_flush_unpin(cx)? else { self.expensive(); continue; };",
            "a line break after an opening brace",
        ),
    ] {
        let text = refusal("yamux", CONNECTION, FLUSH, replacement);
        assert!(text.contains(complaint), "{replacement}: {text}");
    }
}

#[test]
fn a_macro_that_may_return() {
    for macro_ in [
        "futures::try_ready!(self.next())",
        "ready!(self.next())",
        "surprise!()",
    ] {
        let text = refusal(
            "yamux",
            CONNECTION,
            LOOP,
            &format!("        let _ = {macro_};\n{LOOP}"),
        );
        assert!(
            text.contains("no way out of the function"),
            "{macro_}: {text}"
        );
    }
}

#[test]
fn arms_without_work_need_no_block() {
    let (_dir, source) = changed(
        "yamux",
        CONNECTION,
        FLUSH,
        "            let flushed = match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) if self.is_open => Some((1, &self.id)),\n                Poll::Ready(()) => continue,\n                Poll::Pending => None,\n            };",
    );
    assert!(graft(&source).is_ok());
}

#[test]
fn what_a_poll_leads_to_in_an_else_is_marked() {
    let (_dir, source) = changed(
        "yamux",
        CONNECTION,
        FLUSH,
        "            let Poll::Ready(()) = self.socket.poll_flush_unpin(cx)? else {\n                self.expensive();\n                let _ = self.socket.poll_ready_unpin(cx);\n                return Poll::Pending;\n            };",
    );
    let files = graft(&source).expect("all of it can be marked");
    let marks: Vec<(usize, &str)> = files[0].sites[0]
        .1
        .iter()
        .filter(|insertion| (424..=429).contains(&insertion.before))
        .map(|insertion| (insertion.before, insertion.mark))
        .collect();
    assert_eq!(
        marks,
        [
            (424, "child"),
            (425, "own"),
            (426, "child"),
            (427, "own"),
            (429, "own"),
            (427, "pending"),
        ]
    );
}

#[test]
fn a_task_that_is_not_async_or_polls_otherwise() {
    let task = "src/connection/pool/task.rs";
    let text = refusal(
        "libp2p-swarm",
        task,
        "pub(crate) async fn new_for_established_connection",
        "pub(crate) fn new_for_established_connection",
    );
    assert!(text.contains("looked for an `async` function"), "{text}");
    let text = refusal(
        "libp2p-swarm",
        task,
        "poll_fn(|cx| Pin::new(&mut connection).poll(cx))",
        "std::future::poll_fn(|cx| Pin::new(&mut connection).poll(cx))",
    );
    assert!(text.contains("in the loop, found none"), "{text}");
    for other in [
        "poll_fn(|cx| connection.bar(1))",
        "poll_fn(|cx| Pin::new(&mut connection).poll(other))",
        "poll_fn(|cx| connection.poll(cx, 1))",
        "poll_fn(|_| connection.poll(cx))",
    ] {
        let text = refusal(
            "libp2p-swarm",
            task,
            "poll_fn(|cx| Pin::new(&mut connection).poll(cx))",
            other,
        );
        assert!(
            text.contains("looked for one `poll_fn(|cx| CHILD.poll(cx))` in the loop"),
            "{other}: {text}"
        );
    }
}

#[test]
fn comments_and_formatting_make_no_difference() {
    let (_dir, source) = changed(
        "yamux",
        CONNECTION,
        "        loop {\n            if self.socket.poll_ready_unpin",
        "        // Around and around.\n        'again: loop { // here\n\n            if self.socket.poll_ready_unpin",
    );
    assert!(graft(&source).is_ok());
}
