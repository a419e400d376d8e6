//! The instrumented poll functions.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// An instrumented poll function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Site {
    Connection,
    Swarm,
    Muxer,
    Task,
}

impl Site {
    pub(crate) const ALL: [Site; 4] = [Site::Connection, Site::Swarm, Site::Muxer, Site::Task];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Site::Connection => "connection",
            Site::Swarm => "swarm",
            Site::Muxer => "muxer",
            Site::Task => "task",
        }
    }

    /// The function, for whoever looks for it upstream.
    pub(crate) fn function(self) -> &'static str {
        match self {
            Site::Connection => "Connection::poll",
            Site::Swarm => "Swarm::poll_next_event",
            Site::Muxer => "yamux Active::poll",
            Site::Task => "a connection task's poll",
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Site {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Site::ALL
            .into_iter()
            .find(|site| site.name() == text)
            .ok_or_else(|| {
                format!("unknown site {text:?} (accepted: connection, swarm, muxer, task)")
            })
    }
}
