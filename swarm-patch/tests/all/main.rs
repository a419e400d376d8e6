//! All integration tests of this package in one program, which links once.

mod command;
mod diffs;
mod inserted_lines;
mod layers;
mod layouts;
mod levels;
mod patches;
mod proposals;
mod releases;
mod repository;
mod scratch;
mod shapes;
mod subjects;
mod vendor;
