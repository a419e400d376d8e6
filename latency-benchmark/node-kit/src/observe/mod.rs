//! What is seen in central while it works. Whoever sees something notes it with its time in a buffer of its own; the
//! slices are cut out of the buffers afterwards, on a thread that is not central's.

pub(crate) mod activity;
pub(crate) mod cotenant;
pub(crate) mod fixed_work;
pub(crate) mod idle_polls;
pub(crate) mod log;
pub(crate) mod observers;
pub(crate) mod probe_cost;
pub(crate) mod process;
pub(crate) mod replay;
pub(crate) mod requests;
pub(crate) mod same_worker;
pub(crate) mod self_wakes;
pub(crate) mod slice;
pub(crate) mod sums;
pub(crate) mod whole_polls;
