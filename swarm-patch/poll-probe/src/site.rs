use std::{fmt, str::FromStr};

/// An instrumented poll function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Site {
    /// The poll function of one connection.
    #[default]
    Connection,
    /// The poll function of the event loop that owns all connections.
    Swarm,
    /// The poll function of the stream multiplexer of one connection.
    Muxer,
    /// One poll, by the runtime, of the task that drives a connection.
    Task,
}

impl Site {
    /// Every site, in the order of their discriminants.
    pub const ALL: [Site; 4] = [Site::Connection, Site::Swarm, Site::Muxer, Site::Task];

    /// The sites whose work can be bounded.
    pub const BUDGETED: [Site; 3] = [Site::Connection, Site::Muxer, Site::Task];

    /// The name used in files and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Site::Connection => "connection",
            Site::Swarm => "swarm",
            Site::Muxer => "muxer",
            Site::Task => "task",
        }
    }
}

impl FromStr for Site {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Site::ALL
            .into_iter()
            .find(|site| site.name() == text)
            .ok_or_else(|| {
                let names = Site::ALL.map(Site::name).join(", ");
                format!("unknown site {text:?} (accepted: {names})")
            })
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
