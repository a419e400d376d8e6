//! The network stacks that can be measured, each described by one file. A new one is a file here, a package that
//! includes the grafted crate, and a node program.

mod h2;
mod iroh;
mod libp2p;
pub mod quinn;

pub use self::h2::H2;
pub use self::iroh::IROH;
pub use self::libp2p::LIBP2P;
use crate::sites::SiteSpec;

/// Every stack. The first is the default.
pub const STACKS: [&Stack; 3] = [&LIBP2P, &H2, &IROH];

/// What the graft looks for in a stack.
#[derive(Debug)]
pub struct Stack {
    /// Its name. The package `NAME-node` is its node program.
    pub name: &'static str,
    /// The crates that have sites.
    pub packages: &'static [&'static str],
    /// The crates of which a checkout has at least one, to be a subject.
    pub subjects: &'static [&'static str],
    /// The instrumented functions. The first is polled for each connection.
    pub sites: &'static [SiteSpec],
}

impl Stack {
    pub fn named(name: &str) -> Result<&'static Stack, String> {
        let known = STACKS.into_iter().find(|stack| stack.name == name);
        let names = STACKS.map(|stack| stack.name).join(", ");
        known.ok_or_else(|| format!("no stack has this name (accepted: {names})"))
    }

    pub fn program(&self) -> String {
        format!("{}-node", self.name)
    }
}

pub fn sites_of(package: &str) -> impl Iterator<Item = &'static SiteSpec> {
    let sites = STACKS.into_iter().flat_map(|stack| stack.sites);
    sites.filter(move |spec| spec.package == package)
}
