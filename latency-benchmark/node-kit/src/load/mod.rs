//! The load of central: the requests, their times, and their paths.

pub(crate) mod chunks;
pub(crate) mod crowd;
pub(crate) mod messages;
pub(crate) mod pace;
pub(crate) mod paths;
pub(crate) mod send_times;
