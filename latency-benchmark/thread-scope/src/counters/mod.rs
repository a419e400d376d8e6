//! Counters of the processor and of the kernel, for one thread or for the process. Every counter has a name.
//! A counter that this machine lacks or that the user may not read is reported with the reason.
//!
//! The kernel's own counters (CPU time, context switches, page faults) are always available.

mod events;
mod group;
mod process;
mod thread;
mod usage;

pub use process::ProcessCounters;
pub use thread::ThreadCounters;
