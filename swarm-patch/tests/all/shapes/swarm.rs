//! `Swarm::poll_next_event` of libp2p-swarm, rewritten.

use super::{Levels, Shape};
use crate::scratch::replace;

const FILE: &str = "src/lib.rs";
const LOOP: &str = "        loop {\n            if let Some(swarm_event) = this.pending_swarm_events.pop_front() {\n";
const POOL: &str = "            match this.pool.poll(cx) {\n                Poll::Pending => {}\n                Poll::Ready(pool_event) => {\n                    this.handle_pool_event(pool_event);\n                    continue;\n                }\n            }\n";
const END: &str = "            return Poll::Pending;\n        }\n    }\n}\n\n/// Connection to notify of a pending event.\n";

pub(crate) const SHAPES: [Shape; 2] = [
    Shape {
        name: "two polls in one expression",
        rewrite: |source| {
            replace(
                source,
                FILE,
                POOL,
                "            let _ = (this.pending_swarm_events.len(), Poll::<()>::Pending);\n            if let (Poll::Ready(pool_event), ()) = (this.pool.poll(cx), ()) {\n                this.handle_pool_event(pool_event);\n                continue;\n            }\n",
            );
        },
        levels: Levels::All,
    },
    Shape {
        name: "a label and an early return by `ready!`",
        rewrite: |source| {
            replace(
                source,
                FILE,
                LOOP,
                &LOOP.replace("loop {", "'events: loop {"),
            );
            replace(
                source,
                FILE,
                POOL,
                &POOL.replace("continue;", "continue 'events;"),
            );
            replace(
                source,
                FILE,
                END,
                &END.replace(
                    "return Poll::Pending;",
                    "let () = std::task::ready!(Poll::Pending);",
                ),
            );
        },
        levels: Levels::All,
    },
];
