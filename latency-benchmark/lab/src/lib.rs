//! A network between one observed node, central, and its peers, on one machine: network namespaces
//! joined by links whose delay is asked for, made, and measured before it is trusted.
//!
//! ```no_run
//! use lab::{Lab, LabSpec, Placement, Topology, Where};
//!
//! let inside = lab::enter()?; // before any thread exists
//! let placement = Placement::choose(&Topology::of_this_process()?, None, None)?;
//! let spec = LabSpec { rtt: "50".parse()?, ..LabSpec::new(15, placement) };
//! let lab = Lab::wire(inside, spec)?;
//! if let Some(invalid) = lab.measure_rtt()?.invalid() {
//!     return Err(invalid.to_string().into());
//! }
//! let peer = lab.spawn_placed(Where::Peer(0), std::process::Command::new("a-node"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It works as an ordinary user and as root. Nothing it makes outlives the process that entered, however
//! that ends: [`enter`] says how. It knows nothing of what runs inside.

mod child;
mod connects;
mod cores;
mod counters;
mod enter;
mod error;
mod lab;
mod measure;
mod netem;
mod netns;
mod nfqueue;
mod placement;
pub mod preflight;
mod rtt;
pub mod run;
mod signals;
mod spec;
mod sys;
mod tool;
mod wiring;

pub use child::Reaped;
pub use cores::{Cores, ParseCoresError};
pub use counters::{Counters, CpuTime, NamespaceCounters};
pub use enter::{EnterError, Inside, enter};
pub use error::LabError;
pub use lab::{DelayBackend, Lab, LabFacts, Where};
pub use measure::{InvalidLink, LinkRtt, RttReport};
pub use nfqueue::{DelayLineReport, QueueReport, SchedulingClass, delay_line};
pub use placement::{Placement, PlacementError, Sharing, Topology};
pub use rtt::{Jitter, Loss, ParseLinkError, RTT_FORMS, Rtt};
pub use spec::{
    Backend, DEFAULT_LEAD, DelayLineCommand, LabSpec, MAX_PEERS, SpecError, TcpBuffers,
};
pub use tool::ToolError;
