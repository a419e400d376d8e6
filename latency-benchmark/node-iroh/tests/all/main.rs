//! All integration tests of this package in one program, which links once.
#![allow(clippy::unwrap_used)]

mod describes;
mod echo;
