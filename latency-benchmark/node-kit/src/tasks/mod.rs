//! Tasks of the network stack, and what notices their wakes.

pub(crate) mod noticing_waker;
pub(crate) mod stack_task;
