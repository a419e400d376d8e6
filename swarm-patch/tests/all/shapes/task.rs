//! `new_for_established_connection` of libp2p-swarm, rewritten.

use swarm_patch::crate_dir::CrateDir;

use super::{Levels, Shape};
use crate::scratch::replace;

const FILE: &str = "src/connection/pool/task.rs";
const SELECT: &str = "        match futures::future::select(\n            command_receiver.next(),\n            poll_fn(|cx| Pin::new(&mut connection).poll(cx)),\n        )\n        .await\n        {\n";
const HEAD: &str = "pub(crate) async fn new_for_established_connection<THandler>(";
const WHERE: &str = "    mut events: mpsc::Sender<EstablishedConnectionEvent<THandler::ToBehaviour>>,\n) where\n    THandler: ConnectionHandler,\n{\n    loop {\n";

pub(crate) const SHAPES: [Shape; 4] = [
    Shape {
        name: "one `poll_fn` for commands and connection",
        rewrite: |source| {
            one_poll_fn(
                source,
                "            if let Poll::Ready(command) = command_receiver.poll_next_unpin(cx) {\n                return Poll::Ready(Either::Left(command));\n            }\n            Pin::new(&mut connection).poll(cx).map(Either::Right)\n",
            );
        },
        levels: Levels::All,
    },
    Shape {
        name: "`select!`",
        rewrite: |source| {
            replace(
                source,
                FILE,
                SELECT,
                "        let next = futures::select_biased! {\n            command = command_receiver.next() => Either::Left(command),\n            event = futures::FutureExt::fuse(poll_fn(|cx| Pin::new(&mut connection).poll(cx))) => Either::Right(event),\n        };\n        match next {\n",
            );
            plain_arms(source);
        },
        levels: Levels::Outer,
    },
    Shape {
        name: "the loop in another `async` function",
        rewrite: |source| {
            let drive = HEAD.replace(
                "pub(crate) async fn new_for_established_connection",
                "async fn drive",
            );
            let text = source.read(FILE).expect("it is there");
            let begin = text.find(HEAD).expect("the function");
            let until = begin + text[begin..].find("    loop {\n").expect("its loop");
            let head = text[begin..until].replace("mut ", "");
            let rest = [&text[..begin], &head, "    drive(connection_id, peer_id, connection, command_receiver, events).await\n}\n\n", &drive, &text[begin + HEAD.len()..]].concat();
            std::fs::write(source.dir.join(FILE), rest).expect("the copy is ours");
        },
        levels: Levels::Outer,
    },
    Shape {
        name: "`while let` with the condition awaited",
        rewrite: |source| {
            replace(source, FILE, WHERE, &WHERE.replace("    loop {\n", "    while let next = futures::future::select(\n            command_receiver.next(),\n            poll_fn(|cx| Pin::new(&mut connection).poll(cx)),\n        )\n        .await\n    {\n"));
            replace(source, FILE, SELECT, "        match next {\n");
        },
        levels: Levels::Unbounded,
    },
];

/// The `select` becomes a `poll_fn` with this body.
fn one_poll_fn(source: &CrateDir, body: &str) {
    let next = format!(
        "        let next = poll_fn(|cx| {{\n{body}        }})\n        .await;\n        match next {{\n"
    );
    replace(source, FILE, SELECT, &next);
    plain_arms(source);
    replace(
        source,
        FILE,
        "use std::{convert::Infallible, pin::Pin};",
        "use std::{convert::Infallible, pin::Pin, task::Poll};",
    );
}

/// Changes the arms of the `match`, because nothing hands back the other future as a `select` does.
fn plain_arms(source: &CrateDir) {
    for (from, to) in [
        (
            "Either::Left((Some(command), _))",
            "Either::Left(Some(command))",
        ),
        ("Either::Left((None, _))", "Either::Left(None)"),
        ("Either::Right((event, _))", "Either::Right(event)"),
    ] {
        replace(source, FILE, from, to);
    }
}
