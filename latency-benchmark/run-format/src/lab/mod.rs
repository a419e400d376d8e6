//! The network between the nodes: what is asked for, and what the lab reports about it.

mod config;
mod cores;
mod reports;
mod rtt;

pub use self::{config::*, cores::*, reports::*, rtt::*};
