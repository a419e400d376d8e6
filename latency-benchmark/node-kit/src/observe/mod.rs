//! Figures that every run records: counts of the kernel, of tokio and of connections. `profiler` has what only `explain` uses.

pub(crate) mod activity;
pub(crate) mod cotenant;
pub(crate) mod fixed_work;
pub(crate) mod median;
pub(crate) mod network;
pub(crate) mod probe_cost;
pub(crate) mod process;
pub(crate) mod same_worker;
pub(crate) mod self_wakes;
pub(crate) mod threads;
