//! Delay for kernels without netem.
//!
//! A rule in each namespace hands every packet that arrives over a link to a queue, where the kernel
//! keeps it until a process says to let it go on. That process, the delay line, says so after half of
//! the round-trip time. Packets are caught where they arrive, not where they leave: a sent packet
//! counts against its socket until it is on the other side, so holding it back at the sender would
//! throttle TCP.

pub mod delay_line;
mod message;
mod packets;
mod process;
mod queue;
mod rules;

pub use delay_line::{DelayLineReport, QueueReport, SchedulingClass};
pub(crate) use process::DelayLine;
pub(crate) use queue::user_dropped;
pub(crate) use rules::{Iptables, probe};
