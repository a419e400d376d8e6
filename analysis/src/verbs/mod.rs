//! One verb, one file.

pub(crate) mod compare;
pub(crate) mod published;
pub(crate) mod report;
pub(crate) mod verify;
