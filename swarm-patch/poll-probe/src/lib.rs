//! Records every invocation of a poll function, and bounds the work that one invocation may do.
//!
//! The crate knows nothing of any network stack. Its words are few:
//!
//! * A [`Site`] is a poll function under observation. Entering it yields an [`Invocation`], whose
//!   drop writes one fixed-size record into a buffer that belongs to the thread: no lock, no
//!   allocation, no waiting. A full buffer counts what it lost. Only the first recorded invocation on
//!   a thread makes the buffer, before it begins to count its time.
//! * A [`Variant`] says what to record ([`Mode`]) and how much work a site may do in one go
//!   ([`Budgets`]). [`Variant::install`] switches the whole process in one atomic store, so that
//!   variants can take turns inside one process.
//! * A [`Recorder`] owns the buffers and hands the records out, between measurements.
//!
//! ```
//! use std::{future::poll_fn, task::Poll};
//! use poll_probe::{Capacity, Mode, Probe, Recorder, Site, Variant};
//!
//! let recorder = Recorder::new(Capacity::default());
//! recorder.attach(); // this thread; in a runtime with more of them: `Builder::on_thread_start`
//! Variant { budgets: "task=8".parse()?, mode: Mode::Minimal }.install();
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! runtime.block_on(Probe::new(Site::Task).instrument(async {
//!     for _ in 0..100 {
//!         poll_probe::iterate().await; // the work that the budget counts
//!     }
//! }));
//!
//! let mut polls = 0;
//! recorder.drain(|record| {
//!     assert!(record.iterations <= 8);
//!     polls += 1;
//! });
//! assert_eq!(polls, 13);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Poll functions that loop over children, as network stacks have them, mark the loop and the
//! children themselves; [`Invocation`] shows how.
//!
//! Without the default feature `recorder` there are only [`Site`], [`Budgets`] and their text form,
//! for programs that read results. The feature `serde` serialises both as that text.

#[cfg(feature = "recorder")]
mod active;
mod budget;
#[cfg(feature = "recorder")]
mod invocation;
#[cfg(feature = "recorder")]
mod meter;
#[cfg(feature = "recorder")]
mod parts;
#[cfg(feature = "recorder")]
mod record;
#[cfg(feature = "recorder")]
mod recorder;
#[cfg(feature = "recorder")]
mod ring;
mod site;
#[cfg(feature = "recorder")]
mod task;
mod text;
#[cfg(feature = "recorder")]
mod wake;

#[cfg(feature = "recorder")]
pub use active::{Mode, Variant, VariantId};
pub use budget::{Budget, Budgets, Limit, Wake};
#[cfg(feature = "recorder")]
pub use invocation::Invocation;
#[cfg(feature = "recorder")]
pub use meter::{Counts, METERS, Meter};
#[cfg(feature = "recorder")]
pub use record::{ChildPoll, LongestChild, Outcome, Reading, Record};
#[cfg(feature = "recorder")]
pub use recorder::{Capacity, Drained, Recorder, unattached};
pub use site::{ParseSiteError, Site};
#[cfg(feature = "recorder")]
pub use task::{Instrumented, PollFnChild, Probe, iterate, poll_fn_child};
pub use text::{BUDGET_FORMS, ParseBudgetsError};
