//! Observes one thread from within its process, without root and without external tools: where it spends
//! time (stacks), what it allocates, and the counters of processor and kernel. Stacks and allocations have a time on a
//! clock that the caller provides, so that they can be laid beside polls.
//!
//! Nothing here costs anything before it is started. `explain/instruments.rs`, `measure/sample.rs` and `gate/counting.rs`
//! start what they need.

pub mod allocations;
mod code;
mod counters;
mod memory;
mod registers;
mod sampler;
mod stack_writer;
mod symbols;
mod unobservable;
mod user_work;

pub use allocations::CountingAllocator;
pub use counters::Counters;
pub use sampler::StackSampler;
pub use stack_writer::{Moment, SampledObject, StackReader, StackSample};
pub use symbols::Symbols;
pub use unobservable::Unobservable;
pub use user_work::{UserCounts, UserWork};
