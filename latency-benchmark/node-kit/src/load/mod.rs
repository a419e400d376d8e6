//! What central sends, when, and over which path.

pub(crate) mod chunks;
pub(crate) mod crowd;
pub(crate) mod messages;
pub(crate) mod pace;
pub(crate) mod paths;
pub(crate) mod send_times;
