//! A network on one machine between a central node, which is measured, and its peers: network namespaces joined by
//! links with a delay. The delay of each link is measured before the network is used.
//!
//! It works for an ordinary user and for root. Everything it makes disappears when the process that called
//! [`enter()`] ends, even if that process is killed. The crate knows the options of
//! the tool, because its errors name them, but not the programs that run inside the network.

#![allow(missing_docs, reason = "most fields need no more than their names")]

mod cards;
mod child;
mod counters;
mod enter;
mod lab;
mod netem;
mod netns;
mod nfqueue;
mod placement;
pub mod preflight;
mod root;
mod round_trips;
pub mod run_command;
mod signals;
mod spec;
mod sys;
mod tool;
mod wiring;

pub use cards::cards_to;
pub use child::KillOnDrop;
pub use enter::{EnterError, Inside, enter};
pub use lab::{Lab, NodePlace, spawn};
pub use nfqueue::delay_line;
pub use placement::{Topology, cores_for_peer, move_thread_to};
pub use root::enter_root;
pub use round_trips::time_links;
pub use spec::LabSpec;
pub use wiring::{can_receive_on_receiver, check_congestion_control};
