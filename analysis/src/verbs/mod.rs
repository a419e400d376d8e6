//! The verbs that read and write files.

pub(crate) mod compare;
pub(crate) mod merge;
pub(crate) mod report;
pub(crate) mod verify;
