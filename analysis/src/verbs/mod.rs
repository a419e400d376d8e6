//! The verbs that read and write files. Each is a function `run`, but those that print a part of a report are in `report`.

pub(crate) mod compare;
pub(crate) mod export;
pub(crate) mod merge;
pub(crate) mod page;
pub(crate) mod report;
pub(crate) mod verify;
