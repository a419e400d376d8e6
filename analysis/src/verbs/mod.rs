//! One verb, one file.

pub(crate) mod compare;
pub(crate) mod export;
pub(crate) mod merge;
pub(crate) mod page;
pub(crate) mod published;
pub(crate) mod report;
pub(crate) mod verify;
