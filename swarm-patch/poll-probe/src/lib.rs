//! Records every invocation of a poll function, and bounds the work that one invocation may do.
//!
//! Apart from counters of yamux and QUIC, the crate is independent of any network stack. Its terms:
//!
//! * A *site* is an instrumented poll function, and has a [`SiteId`]. Entering it makes an [`Invocation`]. The drop of the
//!   invocation writes one record of fixed size to a buffer of the thread, without a lock, an allocation or a wait. If the
//!   invocation took 100 µs or more, its drop also makes one system call, and an invocation that begins after a pause makes
//!   one before its time begins. A full buffer counts the records that it lost. The first recorded invocation on a thread
//!   makes the buffer, before the invocation's time begins.
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
//! Without the default feature `recorder` there are only [`SiteId`] and [`ProcessBudgets`], for programs that read results.

#[cfg(feature = "recorder")]
mod active;
mod budget;
#[cfg(feature = "recorder")]
mod count_sources;
#[cfg(feature = "recorder")]
mod delegated_bounds;
#[cfg(feature = "recorder")]
mod invocation;
#[cfg(feature = "recorder")]
mod lock;
#[cfg(feature = "recorder")]
mod marks;
#[cfg(feature = "recorder")]
mod muxer;
#[cfg(feature = "recorder")]
mod own_time;
#[cfg(feature = "recorder")]
mod quic;
#[cfg(feature = "recorder")]
mod record;
#[cfg(feature = "recorder")]
mod record_clock;
#[cfg(feature = "recorder")]
mod recorder;
#[cfg(feature = "recorder")]
mod ring;
mod site_id;
#[cfg(feature = "recorder")]
mod task;
#[cfg(feature = "recorder")]
mod under_way;
#[cfg(feature = "recorder")]
mod wake;
#[cfg(feature = "recorder")]
mod yields;

pub use budget::{Budget, Limit, ProcessBudgets, Wake};
#[cfg(feature = "recorder")]
#[doc(hidden)]
pub use lock::lock as locked;
pub use site_id::SiteId;
#[cfg(feature = "recorder")]
pub use {
    active::{Mode, Variant, VariantId, follow},
    delegated_bounds::{
        at_most, in_time, no_longer_than, reached, segments, wakes_now, with_delegated_bounds,
    },
    invocation::Invocation,
    muxer::{
        MuxerCounts, count_muxer_bytes, muxer_bytes, muxer_counts, muxer_moved, watch_muxer,
        watch_muxers,
    },
    own_time::ThreadClock,
    quic::{QuicCounts, quic_counts, received, sent, watch},
    record::{ChildPoll, IterationEnd, METERS, Meter, MeterCounts, Outcome, Reading, Record},
    record_clock::RecordClock,
    recorder::{Drained, Recorder},
    ring::Capacity,
    task::{Instrumented, Probe, child, child_ended, count, iterate},
    yields::count_yields,
};
