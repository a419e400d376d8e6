//! A source that is not as expected is refused, with a sentence that says what and where.

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
        text.contains("one parameter of type `&mut Context`, found 0"),
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
        text.contains("the name `probe` to be free, found it in line 407"),
        "{text}"
    );
}

#[test]
fn what_whole_lines_cannot_mark() {
    let flush = "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => {}\n                Poll::Pending => {}\n            }";
    for (replacement, complaint) in [
        (
            "            let _ = ready!(self.socket.poll_flush_unpin(cx))?;",
            "no macro that is handed the context, found ready! in line 424",
        ),
        (
            "            let _ = (self.socket.poll_flush_unpin(cx)?, self.socket.poll_ready_unpin(cx));",
            "one poll at a time",
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
            "a line of its own",
        ),
        (
            "            let _ = self.socket.poll_flush_unpin(cx)?; let _ = 1;",
            "a line break after what is marked",
        ),
        ("            return self.finish(cx);", "the only ways out"),
        (
            "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => {}\n                Poll::Pending => return Poll::Pending,\n            }",
            "the only ways out",
        ),
    ] {
        let text = refusal("yamux", CONNECTION, flush, replacement);
        assert!(text.contains(complaint), "{replacement}: {text}");
    }
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
    assert!(text.contains("in the loop, found 0"), "{text}");
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
