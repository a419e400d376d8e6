//! The network stacks that can be measured, each described by one file. A new stack takes a file here, a package that
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

/// The description of a stack for the graft.
#[derive(Debug)]
pub struct Stack {
    /// The name of the stack. The package `NAME-node` is its node program.
    pub name: &'static str,
    /// The crates that have sites.
    pub packages: &'static [&'static str],
    /// A checkout is a subject of the stack if it has at least one of these crates.
    pub checkout_crates: &'static [&'static str],
    /// The instrumented functions. The first is polled for each connection.
    pub sites: &'static [SiteSpec],
}

impl Stack {
    /// The stack of this name.
    pub fn named(name: &str) -> Result<&'static Stack, String> {
        let known = STACKS.into_iter().find(|stack| stack.name == name);
        let names = STACKS.map(|stack| stack.name).join(", ");
        known.ok_or_else(|| format!("no stack has this name (accepted: {names})"))
    }

    /// The name of its node program.
    pub fn program(&self) -> String {
        format!("{}-node", self.name)
    }
}

/// The sites of a crate.
pub fn sites_of(package: &str) -> impl Iterator<Item = &'static SiteSpec> {
    let sites = STACKS.into_iter().flat_map(|stack| stack.sites);
    sites.filter(move |spec| spec.package == package)
}
