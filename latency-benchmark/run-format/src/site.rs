//! The sites of all stacks. The measured code has their numbers, and files have their names.

use std::fmt;
use std::str::FromStr;

use crate::serde_as_text;

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
    /// The poll function that drives a QUIC connection, and sends its datagrams.
    QuicConnection,
    /// The poll function that receives the datagrams of all QUIC connections of a socket.
    QuicEndpoint,
    /// One poll, by the runtime, of the task that handles the messages of iroh-gossip.
    GossipActor,
}

impl Site {
    /// Every site, in the order of their discriminants.
    pub const ALL: [Site; 7] = [
        Site::Connection,
        Site::Swarm,
        Site::Muxer,
        Site::Task,
        Site::QuicConnection,
        Site::QuicEndpoint,
        Site::GossipActor,
    ];

    /// The sites whose work can be bounded.
    pub const BUDGETED: [Site; 5] = [
        Site::Connection,
        Site::Muxer,
        Site::Task,
        Site::QuicConnection,
        Site::QuicEndpoint,
    ];

    /// Whether it is a driver of QUIC. These have no loop that counts iterations.
    pub fn is_of_quic(self) -> bool {
        matches!(self, Site::QuicConnection | Site::QuicEndpoint)
    }

    /// The one of a program's sites that shows how slow connections are. With QUIC it is their driver, which takes most of the
    /// time. In a program without connections it is the tasks.
    pub fn of_connections(sites: impl IntoIterator<Item = Site>) -> Site {
        let sites = Vec::from_iter(sites);
        let mut first = [Site::QuicConnection, Site::Connection, Site::Task].into_iter();
        let found = first.find(|site| sites.contains(site));
        found.unwrap_or(Site::Connection)
    }

    /// The name used in files and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Site::Connection => "connection",
            Site::Swarm => "swarm",
            Site::Muxer => "muxer",
            Site::Task => "task",
            Site::QuicConnection => "quic-connection",
            Site::QuicEndpoint => "quic-endpoint",
            Site::GossipActor => "gossip-actor",
        }
    }
}

impl FromStr for Site {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Site::ALL.into_iter().find(|site| site.name() == text);
        named.ok_or_else(|| {
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

impl From<Site> for poll_probe::SiteId {
    fn from(site: Site) -> Self {
        poll_probe::SiteId::new(site as u8)
    }
}

impl From<poll_probe::SiteId> for Site {
    fn from(site: poll_probe::SiteId) -> Self {
        Site::ALL[site.number()]
    }
}

impl PartialEq<Site> for poll_probe::SiteId {
    fn eq(&self, site: &Site) -> bool {
        *self == poll_probe::SiteId::from(*site)
    }
}

serde_as_text!(Site);
