//! The verbs that read and write files. Each is a function `run`.

pub(crate) mod comment;
pub(crate) mod compare;
pub(crate) mod export;
pub(crate) mod merge;
pub(crate) mod page;
pub(crate) mod report;
pub(crate) mod verdict;
pub(crate) mod verify;
