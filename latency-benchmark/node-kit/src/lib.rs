//! What every node program has in common, whatever its network stack: how it is started and reports, what is
//! observed in central while it works, the loop that cuts slices out of that, and the tables that they become.
//! `run_format::protocol` says what passes between a node program and the tool that starts it.

pub mod central;
mod chunks;
mod connected;
mod evidence;
mod measure;
mod messages;
mod node_program;
mod observe;
mod pace;
mod parent;
mod paths;
mod run_writer;
mod stack_task;

pub use self::{
    central::Central,
    chunks::{Chunks, acknowledge_chunks},
    messages::{Deliveries, Publisher},
    node_program::{NodeProgram, described, main},
    observe::{activity::ConnectionCounts, requests::RequestLog},
    pace::{MOST_UNANSWERED, Pacer, ask_at_pace, refuse_unless},
    parent::announce,
    paths::{TrafficPath, TurnTaker},
    stack_task::{StackTask, locked},
};
