//! The levels of sites in changed sources. A level that a source cannot have is noted in one sentence that says what is
//! missing and where.

use crate::scratch::{copy, folder, replace, sources_of_all_stacks};
use swarm_patch::crate_dir::CrateDir;
use swarm_patch::graft::{Graft, GraftedFile, graft};
use swarm_patch::insertion::{Mark, insert};
use swarm_patch::sites::{Level, SiteLevels};
use tempfile::TempDir;

/// A copy of a package in which one text is replaced.
fn changed(package: &str, file: &str, from: &str, to: &str) -> (TempDir, CrateDir) {
    let dir = folder();
    let mut sources = sources_of_all_stacks().into_iter();
    let pristine = sources.find(|source| source.name == package);
    let source = copy(&pristine.expect("a package with sites"), dir.path());
    replace(&source, file, from, to);
    (dir, source)
}

fn grafted(package: &str, file: &str, from: &str, to: &str) -> Graft {
    let (_dir, source) = changed(package, file, from, to);
    graft(&source).expect("the polls of connections are there")
}

fn levels(graft: &Graft, site: &str) -> SiteLevels {
    let mut sites = graft.sites.iter().filter(|levels| levels.spec.name == site);
    sites.next().expect("it is one of the sites").clone()
}

/// The levels of yamux's site after a change, and its grafted text.
fn muxer(from: &str, to: &str) -> (SiteLevels, String) {
    let graft = grafted("yamux", CONNECTION, from, to);
    let text = graft.files.first().map(without_remedies);
    (levels(&graft, "muxer"), text.unwrap_or_default())
}

fn without_remedies(file: &GraftedFile) -> String {
    let insertions = file.insertions.iter().map(|(_, insertion)| insertion);
    let others = insertions.filter(|insertion| insertion.mark != Mark::Remedy);
    insert(&file.original, others)
}

/// The reason for a missing inner level, of a site that has the outer level.
fn missing_inside(from: &str, to: &str) -> String {
    let (levels, text) = muxer(from, to);
    assert_eq!(levels.outer.reason(), None, "{to}");
    assert!(
        text.contains("enter_unmarked(::poll_probe::SiteId::new(2 /* muxer */))"),
        "{text}"
    );
    assert_eq!(levels.budget, levels.inner);
    let reason = levels.inner.reason().expect("it is not there").to_owned();
    assert_eq!(reason.lines().count(), 1, "{reason}");
    reason
}

const CONNECTION: &str = "src/connection.rs";
const TASK: &str = "src/connection/pool/task.rs";
const FLUSH: &str = "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => {}\n                Poll::Pending => {}\n            }";
const LOOP: &str = "        loop {\n            if self.socket.poll_ready_unpin";

#[test]
fn two_functions_of_the_name_and_kind() {
    let (levels, _) = muxer(
        "impl<T> Active<T> {",
        "impl<T> Active<T> {\n    fn poll(&mut self) {}\n",
    );
    assert_eq!(
        levels.inner.reason(),
        None,
        "another signature is another function"
    );
    let (levels, text) = muxer(
        "impl<T> Active<T> {",
        "impl<T> Active<T> {\n    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {\n        Poll::Pending\n    }\n",
    );
    let reason = levels.outer.reason().expect("which of them is it?");
    assert!(
        reason.contains("looked for one function Active::poll, found 2: line "),
        "{reason}"
    );
    assert!(text.is_empty());
}

#[test]
fn a_task_that_is_no_async_function_is_not_there() {
    let graft = grafted(
        "libp2p-swarm",
        TASK,
        "pub(crate) async fn new_for_established_connection",
        "pub(crate) fn new_for_established_connection",
    );
    let task = levels(&graft, "task");
    let reason = task.outer.reason().expect("it has no such function");
    assert!(
        reason.contains("looked for one function new_for_established_connection, found none"),
        "{reason}"
    );
    assert_eq!(levels(&graft, "connection").inner.reason(), None);
    let complete = graft.require_all();
    assert!(complete.is_err(), "the build of this workspace stops");
}

#[test]
fn counts_without_a_place_are_not_there_and_the_budget_is() {
    let graft = grafted("quinn", CONNECTION, "conn.clone()", "Clone::clone(&conn)");
    let connection = levels(&graft, "quic-connection");
    assert_eq!(connection.inner, Level::Present);
    assert_eq!(connection.budget, Level::Present);
    let counts = connection.counts.expect("quinn counts packets");
    let reason = counts.reason().expect("it cannot be asked for them");
    assert!(
        reason.contains("looked for one `conn.clone()`, found none"),
        "{reason}"
    );
    let (muxer, _) = muxer("frame.into_data()", "Frame::into_data(frame)");
    assert_eq!(muxer.budget, Level::Present);
    let counts = muxer.counts.expect("this release keeps them");
    assert!(counts.reason().is_some());
    let complete = graft.require_all();
    assert!(complete.is_err(), "the build of this workspace stops");
}

#[test]
fn a_future_whose_iterations_have_no_place_has_the_outer_level_alone() {
    let graft = grafted(
        "iroh-gossip",
        "src/net.rs",
        "self.event_loop(&mut addr_update_stream, i)",
        "Self::event_loop(&mut self, &mut addr_update_stream, i)",
    );
    let actor = levels(&graft, "gossip-actor");
    assert_eq!(actor.outer, Level::Present);
    let reason = actor.inner.reason().expect("they cannot be counted");
    assert!(
        reason.contains("looked for one `self.event_loop(&mut addr_update_stream, i)`"),
        "{reason}"
    );
    let text = graft.files[0].grafted();
    assert!(text.contains("Probe::unmarked("), "{text}");
}

#[test]
fn what_cannot_be_understood_is_not_there() {
    for (replacement, complaint) in [
        (
            "            let _ = self.socket.poll_flush_unpin(other(self.socket.poll_ready_unpin(cx), cx));",
            "looked for one poll at a time, found a poll within one in line 424",
        ),
        (
            "            let cx2 = &mut *cx;\n            let _ = self.socket.poll_flush_unpin(cx2)?;",
            "no use of `cx` except as an argument of polls and for its waker, found another use in line 424",
        ),
        (
            "            let _ = async { self.socket.poll_flush_unpin(cx) };",
            "found another use in line 424",
        ),
        (
            "            log::trace!(\"{:?}\", other!(cx));",
            "found another use in line 424",
        ),
        (
            "            futures::select! { x = self.socket.poll_flush_unpin(cx) => {} complete => break }",
            "found another use in line 424",
        ),
        (
            "            let waker = cx.waker().clone();\n            let _ = self.socket.poll_flush_unpin(&mut Context::from_waker(&waker));",
            "looked for no context but `cx`, found one made in line 425",
        ),
    ] {
        let reason = missing_inside(FLUSH, replacement);
        assert!(reason.contains(complaint), "{replacement}: {reason}");
    }
    let reason = missing_inside(
        "                if let Some(frame) = self.rtt.next_ping() {",
        "                let probe = 1;\n                if let Some(frame) = self.rtt.next_ping() {",
    );
    assert!(
        reason.contains("no variable `probe`, found one in line 407"),
        "{reason}"
    );
}

#[test]
fn a_loop_that_has_something_in_hand_is_counted_and_not_left() {
    for before in [
        "        let mut frames = Vec::<u8>::new();\n",
        "        let frame = self.pending_read_frame.take();\n",
    ] {
        let (levels, text) = muxer(LOOP, &format!("{before}{LOOP}"));
        assert_eq!(levels.inner.reason(), None);
        let reason = levels.budget.reason().expect("leaving would lose it");
        assert!(
            reason.contains(
                "looked for one loop, which can be left without losing what it has in hand"
            ),
            "{reason}"
        );
        assert!(
            text.contains("probe.count();") && !text.contains("probe.iterate"),
            "{text}"
        );
    }
    for before in [
        "        let socket = &mut self.socket;\n",
        "        let limit = 16;\n",
    ] {
        let (levels, text) = muxer(LOOP, &format!("{before}{LOOP}"));
        assert_eq!(levels.budget.reason(), None, "{before}");
        assert!(text.contains("probe.iterate(cx)"), "{text}");
    }
}

#[test]
fn turns_of_several_loops_are_counted_and_no_loop_is_left() {
    for (replacement, counted) in [
        (
            "            while self.socket.poll_flush_unpin(cx)?.is_ready() {}",
            "while (probe.child(1), self.socket.poll_flush_unpin(cx), probe.child_ended()).1?.is_ready() { probe.count();}",
        ),
        (
            "            for _ in 0..2 {\n                let _ = self.socket.poll_flush_unpin(cx)?;\n            }",
            "for _ in 0..2 {\n                probe.count();",
        ),
        (
            "            loop {\n                let _ = self.socket.poll_flush_unpin(cx)?;\n            }",
            "loop {\n                probe.count();",
        ),
    ] {
        let (levels, text) = muxer(FLUSH, replacement);
        assert_eq!(levels.inner.reason(), None, "{replacement}");
        assert!(levels.budget.reason().is_some(), "{replacement}");
        assert!(text.contains(counted), "{replacement}: {text}");
        assert!(!text.contains("probe.iterate"), "{text}");
        assert_eq!(text.matches("probe.count();").count(), 2, "{text}");
    }
}

#[test]
fn a_poll_is_marked_wherever_it_is() {
    for (replacement, marked) in [
        (
            "            let _ = ready!(self.socket.poll_flush_unpin(cx))?;",
            "ready!((probe.child(1), self.socket.poll_flush_unpin(cx), probe.child_ended()).1)?;",
        ),
        (
            "            let _ = (self.socket.poll_flush_unpin(cx)?, self.socket.poll_ready_unpin(cx));",
            "((probe.child(1), self.socket.poll_flush_unpin(cx), probe.child_ended()).1?, (probe.child(0), self.socket.poll_ready_unpin(cx), probe.child_ended()).1);",
        ),
        (
            "            match () {\n                () if self.socket.poll_flush_unpin(cx)?.is_ready() => {}\n                () => {}\n            }",
            "() if (probe.child(1), self.socket.poll_flush_unpin(cx), probe.child_ended()).1?.is_ready() => {}",
        ),
        (
            "            let _ = self.socket.poll_flush_unpin(&mut *cx)?;",
            "(probe.child(1), self.socket.poll_flush_unpin(&mut *cx), probe.child_ended()).1?;",
        ),
        (
            "            self.keep(cx.waker());",
            "self.keep(cx.waker());",
        ),
    ] {
        let (levels, text) = muxer(FLUSH, replacement);
        assert_eq!(levels.inner.reason(), None, "{replacement}");
        assert_eq!(levels.budget.reason(), None, "{replacement}");
        assert!(text.contains(marked), "{replacement}: {text}");
    }
}

#[test]
fn a_function_that_gets_the_context_and_loops_is_part_of_the_site() {
    let helper = "impl<T: AsyncRead + AsyncWrite + Unpin> Active<T> {\n    fn poll_flushed(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {\n        loop {\n            let _ = self.socket.poll_flush_unpin(cx)?;\n        }\n    }\n}\n\nimpl<T> Active<T> {";
    let (_dir, source) = changed("yamux", CONNECTION, "impl<T> Active<T> {", helper);
    replace(
        &source,
        CONNECTION,
        FLUSH,
        "            let _ = self.poll_flushed(cx)?;",
    );
    let text = graft(&source).expect("it is understood").files[0].grafted();
    assert!(
        text.contains(
            "cx: &mut Context<'_>, probe: &mut ::poll_probe::Invocation) -> Poll<Result<()>>"
        ),
        "{text}"
    );
    assert!(text.contains("self.poll_flushed(cx, probe)?;"), "{text}");
    assert!(
        !text.contains("\"self.poll_flushed\""),
        "it is no child: {text}"
    );
    // Called by somebody who has no invocation to hand on, it is a child.
    replace(
        &source,
        CONNECTION,
        "impl<T> Active<T> {",
        "impl<T: AsyncRead + AsyncWrite + Unpin> Active<T> {\n    fn other(&mut self, cx: &mut Context<'_>) {\n        let _ = self.poll_flushed(cx);\n    }\n}\n\nimpl<T> Active<T> {",
    );
    let text = graft(&source).expect("it is understood").files[0].grafted();
    assert!(text.contains("\"self.poll_flushed\""), "{text}");
}

#[test]
fn work_after_a_poll_is_not_timed_with_it() {
    const IN_MATCH: &str = "self.socket.poll_flush_unpin({ probe.child(1); &mut *cx })? { _ if { probe.child_ended(); false } => unreachable!(),\n";
    const IF_READY: &str = "self.socket.poll_flush_unpin({ probe.child(1); &mut *cx })? { ::core::task::Poll::Ready(_) if { probe.child_ended(); false } => unreachable!(),\n";
    const IN_IF: &str =
        "(probe.child(1), self.socket.poll_flush_unpin(cx), probe.child_ended()).1?.is_ready()";
    for (replacement, mark) in [
        (
            "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => self.expensive(),\n                Poll::Pending => {}\n            }",
            IF_READY,
        ),
        (
            "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => {}\n                Poll::Pending => self.expensive(),\n            }",
            IN_MATCH,
        ),
        (
            "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) if self.expensive() => {}\n                _ => {}\n            }",
            IN_MATCH,
        ),
        (
            "            if self.socket.poll_flush_unpin(cx)?.is_ready() {\n            } else if self.expensive() {\n            }",
            IN_IF,
        ),
    ] {
        let (levels, text) = muxer(FLUSH, replacement);
        assert_eq!(levels.inner.reason(), None);
        assert!(text.contains(mark), "{replacement}: {text}");
    }
}

#[test]
fn what_a_poll_leads_to_in_an_else_is_marked() {
    let (_dir, source) = changed(
        "yamux",
        CONNECTION,
        FLUSH,
        "            let Poll::Ready(()) = self.socket.poll_flush_unpin(cx)? else {\n                self.expensive();\n                let _ = self.socket.poll_ready_unpin(cx);\n                return Poll::Pending;\n            };",
    );
    let files = graft(&source).expect("all of it can be marked").files;
    let insertions = files[0].insertions.iter();
    let marks: Vec<(usize, Mark)> = insertions
        .map(|(_, insertion)| (insertion.line(&files[0].original), insertion.mark))
        .filter(|(line, mark)| (424..=429).contains(line) && *mark != Mark::Remedy)
        .collect();
    assert_eq!(
        marks,
        [
            (424, Mark::Child),
            (424, Mark::ChildEnd),
            (426, Mark::Child),
            (426, Mark::ChildEnd)
        ]
    );
}

#[test]
fn comments_and_formatting_make_no_difference() {
    let (levels, text) = muxer(
        LOOP,
        "        // Around and around.\n        'again: loop { // here\n\n            if self.socket.poll_ready_unpin",
    );
    assert_eq!(
        (levels.inner, levels.budget),
        (Level::Present, Level::Present)
    );
    assert!(
        text.contains("loop { // here\nif probe.iterate(cx)"),
        "{text}"
    );
}
