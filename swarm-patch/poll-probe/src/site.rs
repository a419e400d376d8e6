use std::{fmt, str::FromStr};

/// An instrumented poll function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Site {
    /// The poll function of one connection.
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

/// The text is not the name of a site.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown site {0:?} (accepted: {names})", names = Site::ALL.map(Site::name).join(", "))]
pub struct ParseSiteError(String);

impl FromStr for Site {
    type Err = ParseSiteError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Site::ALL
            .into_iter()
            .find(|site| site.name() == text)
            .ok_or_else(|| ParseSiteError(text.to_owned()))
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
