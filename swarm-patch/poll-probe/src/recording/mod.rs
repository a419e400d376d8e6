//! Records and bounds invocations. Programs that only read results are built without this.

mod active;
mod count_sources;
pub mod delegated_bounds;
mod invocation;
mod lock;
mod marks;
mod muxer;
mod own_time;
pub mod quic;
mod record;
mod record_clock;
mod recorder;
mod ring;
mod task;
mod under_way;
mod wake;
mod yields;

#[doc(hidden)]
pub use self::lock::lock as locked;
pub use self::{
    active::{Mode, Variant, VariantId, follow},
    delegated_bounds::with_delegated_bounds,
    invocation::Invocation,
    muxer::{
        MuxerCounts, count_muxer_bytes, muxer_bytes, muxer_counts, muxer_moved, watch_muxer,
        watch_muxers,
    },
    own_time::ThreadClock,
    quic::{QuicCounts, quic_counts},
    record::{ChildPoll, IterationEnd, MAX_COUNTERS, Meter, MeterCounts, Outcome, Reading, Record},
    record_clock::RecordClock,
    recorder::{Drained, Recorder},
    ring::Capacity,
    task::{Instrumented, Probe, child, child_ended, count, iterate},
    yields::count_yields,
};
