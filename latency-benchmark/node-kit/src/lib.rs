//! The common part of all node programs, which does not depend on the network stack: it starts the program, observes central,
//! decides when turns and slices begin and end, and reports to the parent. `node-ab` has the slices and their tables.
//! `run-format/src/protocol.rs` describes the messages between a node program and the tool that starts it.

mod addresses;
pub mod central;
mod chunks;
mod crowd;
mod explain;
pub mod gate;
mod heap;
mod measure;
mod messages;
mod node_program;
mod noticing_waker;
mod observe;
mod observed_central;
mod pace;
mod parent;
mod paths;
pub mod profiler;
mod send_times;
mod shared_page;
mod stack_task;

pub use self::addresses::{listen_address, peer_addresses};
pub use self::central::Central;
pub use self::chunks::{count_chunks, send_chunks};
pub use self::messages::{Deliveries, Publisher};
pub use self::node_program::{NodeProgram, described, main};
pub use self::observe::activity::ConnectionCounts;
pub use self::pace::{MOST_UNANSWERED, Pacer, ask_at_pace, refuse_unless};
pub use self::parent::{announce, report};
pub use self::paths::{PathUser, TrafficPath};
pub use self::send_times::SendTimes;
pub use self::stack_task::StackTask;
pub use node_ab::slices::{Findings, RequestLog};
pub use poll_probe::locked;
