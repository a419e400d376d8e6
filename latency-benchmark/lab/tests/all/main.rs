//! All integration tests of this package in one program, which links once.

mod command_line;
mod death;
mod failure_lines;
mod support;
