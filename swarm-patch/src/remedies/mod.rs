//! Remedies: other ways to do what a measured crate does. The graft puts the new way beside the old one, and the variant in
//! force chooses. In a patch for upstream, the new way takes the place of the old one. Each remedy is a file.

mod flush;

pub use self::flush::FLUSH;
use crate::sites::{Rewrite, SiteSpec};

/// A remedy of a crate that has a site.
#[derive(Debug)]
pub struct RemedySpec {
    /// Its name in `run_format::Remedy`.
    pub name: &'static str,
    /// Its number there, by which the inserted code asks for it.
    pub number: u32,
    /// The crate.
    pub package: &'static str,
    /// A struct, and the fields that it gets.
    pub fields: (&'static str, &'static str),
    /// Code around expressions of the function of a site, and of functions beside it. The code asks `probe.remedy(NUMBER)`
    /// whether the remedy is in force.
    pub rewrites: &'static [Rewrite],
    /// The file that the patch for upstream changes.
    pub file: &'static str,
    /// Pairs of a text that is there once, and the one that the patch puts in its place.
    pub replacements: &'static [(&'static str, &'static str)],
    /// The patch adds this at the end of the file.
    pub unit_test: &'static str,
    /// The line of the changelog.
    pub news: &'static str,
}

/// Every remedy.
pub const REMEDIES: [&RemedySpec; 1] = [&FLUSH];

/// The remedies that change the function of a site.
pub fn remedies_of(spec: &SiteSpec) -> impl Iterator<Item = &'static RemedySpec> {
    let (package, function) = (spec.package, spec.function);
    let is_of_site = move |remedy: &&RemedySpec| {
        let mut rewrites = remedy.rewrites.iter();
        remedy.package == package && rewrites.any(|rewrite| rewrite.function == function)
    };
    REMEDIES.into_iter().filter(is_of_site)
}
