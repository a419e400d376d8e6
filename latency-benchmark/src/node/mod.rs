//! The processes that talk: central, which is observed, and its peers. They know nothing of the
//! network that they run in.

pub(crate) mod beside_tcp;
pub(crate) mod central;
pub(crate) mod linked;
pub(crate) mod peer;
#[cfg(feature = "planted")]
mod planted;
mod swarm;
mod transaction;
mod workload;
