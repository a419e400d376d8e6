//! Records every invocation of a poll function, and bounds the work that one invocation may do.
//!
//! Apart from counters of yamux and QUIC, the crate is independent of any network stack. Its terms:
//!
//! * A *site* is an instrumented poll function, and has a [`SiteId`]. Entering it makes an [`Invocation`]. The drop of the
//!   invocation writes one record of fixed size to a buffer of the thread, without a lock, an allocation or a wait. If the
//!   invocation took 100 µs or more, its drop also makes one system call. An invocation that begins after a pause, or 0.2 to
//!   1 ms after the last such call, makes one before its time begins. A full buffer counts the records that it lost. The
//!   first recorded invocation on a thread makes the buffer, before the invocation's time begins.
//! * The own time of an invocation is the part of it in which its thread ran ([`Record::own_ns`]). On Linux it leaves out
//!   the time that the kernel gave to other threads and, where the kernel accounts for it, the time that a hypervisor took.
//!   An invocation of less than 100 µs counts as a whole, and so does every invocation on other systems.
//! * A [`Variant`] sets what is recorded ([`Mode`]) and how much work a site may do in one invocation ([`ProcessBudgets`]).
//!   [`Variant::install`] switches the whole process by one atomic store, so that variants can take turns in one process.
//! * A [`Recorder`] owns the buffers and hands out the records between measurements.
//!
//! ```
//! use std::{future::poll_fn, task::Poll};
//! use poll_probe::{Capacity, Mode, Probe, ProcessBudgets, Recorder, SiteId, Variant};
//!
//! const TASK: SiteId = SiteId::new(0);
//!
//! let recorder = Recorder::new(Capacity::default());
//! recorder.attach(); // this thread; in a runtime with more of them: `Builder::on_thread_start`
//! let budgets = ProcessBudgets::NONE.with(TASK, "8".parse()?);
//! Variant { budgets, mode: Mode::Minimal }.install();
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! runtime.block_on(Probe::new(TASK).instrument(async {
//!     for _ in 0..100 {
//!         poll_probe::iterate().await; // the work that the budget counts
//!     }
//! }));
//!
//! let mut polls = 0;
//! recorder.drain(|record| {
//!     assert!(record.iterations <= Some(8));
//!     polls += 1;
//! });
//! assert_eq!(polls, 13);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The poll functions of network stacks loop over children. Such a function marks the loop and the children itself, as
//! [`Invocation`] shows.
//!
//! Without the default feature `recorder` there are only sites and budgets, for programs that read results.

mod budget;
#[cfg(feature = "recorder")]
mod recording;
mod site_id;

pub use budget::{Budget, Limit, ProcessBudgets, Wake};
#[cfg(feature = "recorder")]
pub use recording::*;
pub use site_id::SiteId;
