//! What a network stack calls its sites.

use run_format::{NodeConfig, Site, Tool};

use crate::text::{joined, quoted};

#[derive(Clone, Debug, Default)]
pub(crate) struct SiteNames(Vec<(Site, String)>);

impl SiteNames {
    /// As the measured program named them. Published tables name none and are of libp2p.
    pub(crate) fn of(measured: Option<(&Tool, &NodeConfig)>) -> SiteNames {
        const LIBP2P: [(Site, &str); 4] = [
            (Site::Connection, "Connection::poll"),
            (Site::Swarm, "Swarm::poll_next_event"),
            (Site::Muxer, "yamux Active::poll"),
            (Site::Task, "a connection task's poll"),
        ];
        let named = measured.and_then(|(tool, _)| tool.node.as_ref());
        let named = named.iter().flat_map(|node| &node.sites);
        let mut sites: Vec<_> = named.map(|it| (it.site, it.function.clone())).collect();
        if sites.is_empty() {
            sites.extend(LIBP2P.map(|(site, name)| (site, name.to_owned())));
        }
        sites.retain(|(site, _)| measured.is_none_or(|(_, node)| node.has_site(*site)));
        SiteNames(sites)
    }

    /// Nobody named its sites. Without a swarm, tasks are any that it instruments itself.
    pub(crate) fn of_application(sites: &[Site]) -> SiteNames {
        let libp2p = SiteNames::of(None);
        let name = |site: Site| match site {
            Site::Task if !sites.contains(&Site::Swarm) => "a task's poll",
            _ => libp2p.function(site),
        };
        SiteNames(sites.iter().map(|it| (*it, name(*it).to_owned())).collect())
    }

    /// The site that a verdict is about, unless somebody names another one.
    pub(crate) fn of_connections(&self) -> Site {
        Site::of_connections(self.0.iter().map(|it| it.0))
    }

    pub(crate) fn has(&self, site: Site) -> bool {
        self.0.iter().any(|it| it.0 == site)
    }

    pub(crate) fn function(&self, site: Site) -> &str {
        let named = self.0.iter().find(|it| it.0 == site);
        named.map_or(site.name(), |it| &it.1)
    }

    /// The function as code, unless words describe it.
    pub(crate) fn quoted(&self, site: Site) -> String {
        match self.function(site) {
            function if function.contains("::") => quoted(function),
            words => words.to_owned(),
        }
    }

    /// "`connection` is `Connection::poll`, `task` is a connection task's poll".
    pub(crate) fn in_words(&self) -> String {
        let sites = self.0.iter().map(|(site, _)| *site);
        joined(
            sites.map(|it| format!("{} is {}", quoted(it), self.quoted(it))),
            ", ",
        )
    }
}
