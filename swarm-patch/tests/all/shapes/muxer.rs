//! `Active::poll` of yamux, rewritten.

use swarm_patch::crate_dir::CrateDir;

use super::{Levels, Shape};
use crate::scratch::replace;

const FILE: &str = "src/connection.rs";
const HEAD: &str =
    "    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Stream>> {\n        loop {\n";
const FLUSH: &str = "            match self.socket.poll_flush_unpin(cx)? {\n                Poll::Ready(()) => {}\n                Poll::Pending => {}\n            }\n";
const LAST: &str = "            // If we make it this far, at least one of the above must have registered a waker.\n            return Poll::Pending;\n        }\n    }\n";

pub(crate) const SHAPES: [Shape; 5] = [
    Shape {
        name: "a budget of its own",
        rewrite: |source| {
            let own = "        let mut iterations = 0;\n        loop {\n            iterations += 1;\n            if iterations > 32 {\n                cx.waker().wake_by_ref();\n                return Poll::Pending;\n            }\n";
            replace(source, FILE, HEAD, &HEAD.replace("        loop {\n", own));
        },
        levels: Levels::Unbounded,
    },
    Shape {
        name: "the loop in a function of its own",
        rewrite: |source| {
            let split = "    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Stream>> {\n        self.poll_halves(cx)\n    }\n\n    fn poll_halves(&mut self, cx: &mut Context<'_>) -> Poll<Result<Stream>> {\n        loop {\n";
            replace(source, FILE, HEAD, split);
        },
        levels: Levels::All,
    },
    Shape {
        name: "a half that writes and a half that reads",
        rewrite: halves,
        levels: Levels::Unbounded,
    },
    Shape {
        name: "a bounded `for`",
        rewrite: |source| {
            replace(
                source,
                FILE,
                HEAD,
                &HEAD.replace("loop {", "for _ in 0..32 {"),
            );
            let last = LAST.replace(
                "        }\n    }\n",
                "        }\n        cx.waker().wake_by_ref();\n        Poll::Pending\n    }\n",
            );
            replace(source, FILE, LAST, &last);
        },
        levels: Levels::Unbounded,
    },
    Shape {
        name: "macros and guards around polls",
        rewrite: |source| {
            replace(
                source,
                FILE,
                FLUSH,
                "            match () {\n                () if matches!(self.socket.poll_flush_unpin(cx)?, Poll::Pending) => {}\n                () => {}\n            }\n",
            );
            replace(
                source,
                FILE,
                LAST,
                &LAST.replace(
                    "return Poll::Pending;",
                    "std::task::ready!(Poll::<()>::Pending);",
                ),
            );
        },
        levels: Levels::All,
    },
];

/// The poll of the socket's frames moves to a function of its own.
fn halves(source: &CrateDir) {
    let text = source.read(FILE).expect("it is there");
    let from = text
        .find("            if self.pending_read_frame.is_none() {\n                match self.socket.poll_next_unpin(cx) {")
        .expect("the half that reads");
    let to = text.find(LAST).expect("the end of the loop");
    let half = &text[from..to];
    let reading = format!(
        "    fn poll_read_half(&mut self, cx: &mut Context<'_>) -> Poll<Result<Stream>> {{\n        loop {{\n{half}            return Poll::Pending;\n        }}\n    }}\n\n"
    );
    let call = "            match self.poll_read_half(cx)? {\n                Poll::Ready(stream) => return Poll::Ready(Ok(stream)),\n                Poll::Pending if self.pending_read_frame.is_some() && self.socket.poll_ready_unpin(cx).is_ready() => continue,\n                Poll::Pending => {}\n            }\n\n";
    let without_half = text.replace(half, call);
    let changed = without_half.replacen(HEAD, &format!("{reading}{HEAD}"), 1);
    std::fs::write(source.dir.join(FILE), changed).expect("the copy is ours");
}
