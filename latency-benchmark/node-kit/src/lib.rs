//! The common part of all node programs, which does not depend on the network stack: it starts the program, observes central,
//! decides when turns and slices begin and end, and reports to the parent. `node-ab` has the slices and their tables.
//! `run-format/src/protocol.rs` describes the messages between a node program and the tool that starts it.

pub mod central;
mod explain;
pub mod gate;
mod load;
mod measure;
mod node_program;
mod observe;
mod observed_central;
mod process;
pub mod profiler;
mod tasks;

pub use self::central::Central;
pub use self::load::chunks::{count_chunks, send_chunks};
pub use self::load::messages::{Deliveries, Publisher};
pub use self::load::pace::{MOST_UNANSWERED, Pacer, ask_at_pace, refuse_unless};
pub use self::load::paths::{PathUser, TrafficPath};
pub use self::load::send_times::SendTimes;
pub use self::node_program::{NodeProgram, described, main};
pub use self::observe::activity::ConnectionCounts;
pub use self::process::addresses::{listen_address, peer_addresses};
pub use self::process::parent::{announce, report};
pub use self::tasks::stack_task::StackTask;
pub use node_ab::slices::{Delivery, RequestLog, SharedWithWorkload};
pub use poll_probe::locked;
