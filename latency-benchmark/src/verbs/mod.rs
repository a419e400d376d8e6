//! A file per verb: arguments in, the library's call, an exit code out.

pub(crate) mod cell;
pub(crate) mod central;
pub(crate) mod lab;
pub(crate) mod peer;
pub(crate) mod preflight;
pub(crate) mod rr;
mod stdin;
