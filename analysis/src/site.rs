//! What the sites are called upstream.

use run_format::Site;

/// The function that a site is.
pub(crate) trait UpstreamFunction {
    /// Its name in upstream's sources.
    fn function(self) -> &'static str;
}

impl UpstreamFunction for Site {
    fn function(self) -> &'static str {
        match self {
            Site::Connection => "Connection::poll",
            Site::Swarm => "Swarm::poll_next_event",
            Site::Muxer => "yamux Active::poll",
            Site::Task => "a connection task's poll",
        }
    }
}
