//! The names that a network stack gives its sites.

use run_format::{NodeConfig, Site, Tool};

use crate::text::{joined, quoted};

#[derive(Clone, Debug, Default)]
pub(crate) struct SiteNames(Vec<(Site, String)>);

impl SiteNames {
    /// The names of libp2p's sites.
    pub(crate) fn libp2p() -> SiteNames {
        let names = [
            (Site::Connection, "Connection::poll"),
            (Site::Swarm, "Swarm::poll_next_event"),
            (Site::Muxer, "yamux Active::poll"),
            (Site::Task, "a connection task's poll"),
        ];
        SiteNames(names.map(|(site, name)| (site, name.to_owned())).into())
    }

    /// The names that the measured program gave to the sites of its nodes. If the program recorded no names, libp2p's are
    /// used.
    pub(crate) fn recorded(tool: &Tool, node: &NodeConfig) -> SiteNames {
        let named = tool.node.iter().flat_map(|program| &program.sites);
        let mut names: Vec<(Site, String)> = named
            .map(|named| (named.site, named.function.clone()))
            .collect();
        if names.is_empty() {
            names = SiteNames::libp2p().0;
        }
        names.retain(|(site, _)| node.has_site(*site));
        SiteNames(names)
    }

    /// The names of an application's sites. An application records no names, so libp2p's are used. Without a swarm, its tasks
    /// can be any that it instruments, and need not be those of connections.
    pub(crate) fn in_application(sites: &[Site]) -> SiteNames {
        let libp2p = SiteNames::libp2p();
        let name = |site: Site| match site {
            Site::Task if !sites.contains(&Site::Swarm) => "a task's poll",
            _ => libp2p.function(site),
        };
        let named = sites.iter().map(|site| (*site, name(*site).to_owned()));
        SiteNames(named.collect())
    }

    /// The site that a verdict is about, unless an option names another one.
    pub(crate) fn connection_site(&self) -> Site {
        Site::of_connections(self.0.iter().map(|(site, _)| *site))
    }

    pub(crate) fn has(&self, site: Site) -> bool {
        self.0.iter().any(|(named, _)| *named == site)
    }

    pub(crate) fn function(&self, site: Site) -> &str {
        let named = self.0.iter().find(|(named, _)| *named == site);
        named.map_or(site.name(), |(_, function)| function)
    }

    /// The function as code, or the words that describe it.
    pub(crate) fn quoted(&self, site: Site) -> String {
        match self.function(site) {
            function if function.contains("::") => quoted(function),
            words => words.to_owned(),
        }
    }

    /// All names in words, such as "`connection` is `Connection::poll`, `task` is a connection task's poll".
    pub(crate) fn in_words(&self) -> String {
        let sites = self.0.iter().map(|(site, _)| *site);
        let named = sites.map(|site| format!("{} is {}", quoted(site), self.quoted(site)));
        joined(named, ", ")
    }
}
