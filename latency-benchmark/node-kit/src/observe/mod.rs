//! Observers of central for everything but polls and requests.

pub(crate) mod activity;
pub(crate) mod cotenant;
pub(crate) mod fixed_work;
pub(crate) mod network;
pub(crate) mod probe_cost;
pub(crate) mod process;
pub(crate) mod same_worker;
pub(crate) mod self_wakes;
pub(crate) mod threads;
