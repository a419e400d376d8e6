//! Observes one thread from within its process, without root and without external tools: where it spends
//! time (stacks), what it allocates, which system calls it makes, and the counters of processor and kernel.
//! Every observation has a time on a clock that the caller provides, so that it can be compared with other
//! data from the same moment. It does not depend on any network stack.
//!
//! Nothing here costs anything before it is started. `evidence/watch.rs` starts all of it.

pub mod allocations;
mod code;
mod counters;
mod memory;
mod registers;
mod sampler;
mod signal_handler;
mod spinner;
mod stack_writer;
mod symbols;
mod system_calls;
mod unobservable;
mod user_work;

pub use allocations::CountingAllocator;
pub use counters::Counters;
pub use sampler::{StackSample, StackSampler};
pub use spinner::Spinner;
pub use symbols::Symbols;
pub use system_calls::{SystemCall, SystemCallRecorder};
pub use unobservable::Unobservable;
pub use user_work::{UserCounts, UserWork};
