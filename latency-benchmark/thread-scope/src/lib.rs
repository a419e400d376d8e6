//! Looks at one thread from within its process, without root and without tools: where its time goes
//! (stacks), what it allocates, which system calls it makes, what the processor counts. Everything
//! seen carries the time on a clock of the caller's, by which it can be laid beside what else is known
//! of that moment. The crate knows nothing of any network stack.
//!
//! Nothing here costs anything before it is started.
//!
//! ```
//! use std::{hint, time::{Duration, Instant}};
//! use thread_scope::{Begin, StackSampler, Symbols, fold};
//!
//! let start = Instant::now();
//! let clock = move || start.elapsed().as_nanos() as u64;
//! let this_thread = nix::unistd::gettid().as_raw();
//! let mut sampler = StackSampler::start(this_thread, Duration::from_micros(500), clock)?;
//!
//! sampler.set_recording(true);
//! while clock() < 50_000_000 {
//!     hint::spin_loop();
//! }
//! sampler.set_recording(false);
//!
//! let mut symbols = Symbols::new();
//! sampler.drain(|sample| {
//!     let stack = symbols.stack(sample.frames, false);
//!     if let Some(line) = fold(&stack, Begin::Innermost, |name| name.ends_with("::main")) {
//!         println!("{} {line}", sample.at);
//!     }
//! });
//! # Ok::<(), thread_scope::Unavailable>(())
//! ```

pub mod allocations;
mod code;
mod counters;
mod memory;
mod record;
mod registers;
mod sampler;
mod spinner;
mod symbols;
mod system_calls;
mod unavailable;
mod walk;

pub use allocations::CountingAllocator;
pub use counters::{Counters, ProcessCounters};
pub use sampler::{StackSample, StackSampler};
pub use spinner::Spinner;
pub use symbols::{Begin, Symbols, fold};
pub use system_calls::{SystemCall, SystemCalls};
pub use unavailable::Unavailable;

/// A clock of the caller's, which signal handlers and the allocator may call.
type Clock = Box<dyn Fn() -> u64 + Send + Sync>;
