//! The processes that talk: central, which is observed, and its peers. They know nothing of the
//! network that they run in.

pub(crate) mod central;
pub(crate) mod peer;
mod swarm;
mod workload;
