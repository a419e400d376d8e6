//! Delay for kernels without netem.
//!
//! A rule in each namespace sends every packet that arrives over a link to a queue. The kernel keeps the
//! packet there until a process releases it. That process, the delay line, releases it after half of the
//! round-trip time. Packets are held where they arrive, not where they leave: a sent packet counts against
//! its socket until it reaches the other side, so holding it at the sender would throttle TCP.

pub mod delay_line;
mod message;
mod packets;
mod process;
mod queue;
mod rules;

pub(crate) use process::DelayLineProcess;
pub(crate) use queue::{numbers, user_dropped};
pub(crate) use rules::{hold_packets, probe};
