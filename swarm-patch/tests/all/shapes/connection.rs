//! `Connection::poll` of libp2p-swarm, rewritten.

use super::{Levels, Shape};
use crate::scratch::replace;

const FILE: &str = "src/connection.rs";
const LOOP: &str = "        loop {\n            match requested_substreams.poll_next_unpin(cx) {\n";
const REQUESTED_END: &str = "                Poll::Ready(None) | Poll::Pending => {}\n            }\n\n            // Poll the [`ConnectionHandler`].\n";
const END: &str = "            // Nothing can make progress, return `Pending`.\n            return Poll::Pending;\n        }\n    }\n";
const HEAD: &str = "    pub(crate) fn poll(\n        self: Pin<&mut Self>,\n        cx: &mut Context<'_>,\n    ) -> Poll<Result<Event<THandler::ToBehaviour>, ConnectionError>> {\n";
const RETURNED: &str = "Poll<Result<Event<THandler::ToBehaviour>, ConnectionError>>";

pub(crate) const SHAPES: [Shape; 6] = [
    Shape {
        name: "`while let`",
        rewrite: |source| {
            replace(
                source,
                FILE,
                LOOP,
                "        loop {\n            while let Poll::Ready(Some(result)) = requested_substreams.poll_next_unpin(cx) { match result {\n",
            );
            replace(
                source,
                FILE,
                "                Poll::Ready(Some(Ok(()))) => continue,\n",
                "                Ok(()) => continue,\n",
            );
            replace(
                source,
                FILE,
                "                Poll::Ready(Some(Err(info))) => {\n",
                "                Err(info) => {\n",
            );
            let end = REQUESTED_END.replace(
                "                Poll::Ready(None) | Poll::Pending => {}\n            }",
                "            } }",
            );
            replace(source, FILE, REQUESTED_END, &end);
        },
        levels: Levels::Unbounded,
    },
    Shape {
        name: "the loop in a method",
        rewrite: |source| {
            let split = format!(
                "{HEAD}        self.get_mut().drive(cx)\n    }}\n\n    fn drive(&mut self, cx: &mut Context<'_>) -> {RETURNED} {{\n"
            );
            replace(source, FILE, HEAD, &split);
            replace(
                source,
                FILE,
                "            ..\n        } = self.get_mut();\n",
                "            ..\n        } = self;\n",
            );
        },
        levels: Levels::All,
    },
    Shape {
        name: "a poll in a closure with a context of its own",
        rewrite: |source| {
            replace(
                source,
                FILE,
                LOOP,
                "        loop {\n            let mut next = |cx: &mut Context<'_>| requested_substreams.poll_next_unpin(cx);\n            match next(cx) {\n",
            );
        },
        levels: Levels::Outer,
    },
    Shape {
        name: "in another file",
        rewrite: |source| {
            let text = source.read(FILE).expect("it is there");
            let begin = text
                .find("    /// Polls the handler and the substream, forwarding")
                .expect("the function");
            let end = begin + text[begin..].find(END).expect("its end") + END.len();
            let moved = format!(
                "//! Moved.\n\nuse super::*;\n\nimpl<THandler> Connection<THandler>\nwhere\n    THandler: ConnectionHandler,\n{{\n{}}}\n",
                &text[begin..end]
            );
            let rest = [&text[..begin], &text[end..]].concat().replacen(
                "mod error;\n",
                "mod error;\nmod polling;\n",
                1,
            );
            std::fs::write(source.dir.join(FILE), rest).expect("the copy is ours");
            std::fs::write(source.dir.join("src/connection/polling.rs"), moved)
                .expect("the copy is ours");
        },
        levels: Levels::All,
    },
    Shape {
        name: "nested loops with labels",
        rewrite: |source| {
            let phase = LOOP.replace(
                "        loop {\n            match",
                "        'drive: loop {\n            'requested: loop { match",
            );
            replace(source, FILE, LOOP, &phase);
            let end = REQUESTED_END.replace(
                "=> {}\n            }",
                "=> break 'requested,\n            } }",
            );
            replace(source, FILE, REQUESTED_END, &end);
            replace(
                source,
                FILE,
                "                    continue; // Poll handler until exhausted.",
                "                    continue 'drive; // Poll handler until exhausted.",
            );
        },
        levels: Levels::Unbounded,
    },
    Shape {
        name: "no loop: it calls itself",
        rewrite: |source| {
            let text = source.read(FILE).expect("it is there");
            let begin = text.find(LOOP).expect("the loop");
            let end = begin + text[begin..].find(END).expect("its end");
            let body = text[begin..end].replacen("        loop {\n", "        {\n", 1);
            let again = "return self.poll(cx)";
            let body = body
                .replace("=> continue,", &format!("=> {again},"))
                .replace("continue;", &format!("{again};"));
            let rest = [&text[..begin], &body, &text[end..]].concat();
            std::fs::write(source.dir.join(FILE), rest).expect("the copy is ours");
            replace(
                source,
                FILE,
                HEAD,
                &HEAD.replace("self: Pin", "mut self: Pin"),
            );
            replace(
                source,
                FILE,
                "} = self.get_mut();",
                "} = self.as_mut().get_mut();",
            );
        },
        levels: Levels::Outer,
    },
];
