use std::fmt;

/// An instrumented poll function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Site {
    /// The poll function of one connection.
    Connection,
    /// The poll function of the event loop above all connections.
    Swarm,
    /// The poll function of the stream multiplexer below one connection.
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

    /// The site of that name.
    pub fn from_name(name: &str) -> Option<Site> {
        Site::ALL.into_iter().find(|site| site.name() == name)
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
