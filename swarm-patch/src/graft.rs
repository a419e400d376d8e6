//! The graft of one crate: its files with the lines of all its sites inserted.

use anyhow::{Context, Result};
use syn::File;

use crate::{
    crate_source::CrateSource,
    error::{Place, Refused},
    insertion::{Insertion, insert},
    locate::{Found, locate},
    poll_site,
    sites::{Shape, SiteSpec, sites_of},
    task_site,
};

/// A file that is changed.
#[derive(Clone, Debug)]
pub struct GraftedFile {
    /// Its path in the crate.
    pub file: String,
    /// Its text as it was.
    pub original: String,
    /// Its sites, with the lines inserted for each.
    pub sites: Vec<(SiteSpec, Vec<Insertion>)>,
}

impl GraftedFile {
    /// Its text with the lines inserted.
    pub fn grafted(&self) -> String {
        let all: Vec<Insertion> = self
            .sites
            .iter()
            .flat_map(|(_, lines)| lines.clone())
            .collect();
        insert(&self.original, &all)
    }
}

/// Makes the lines for a function that was found.
pub type MakeLines<'a> =
    dyn Fn(&str, &File, &Found<'_>, &SiteSpec, &Place) -> Result<Vec<Insertion>, Refused> + 'a;

/// The probe and the budgets at every site of the crate.
pub fn graft(source: &CrateSource) -> Result<Vec<GraftedFile>> {
    edit(
        source,
        sites_of(&source.name),
        &|text, tree, found, spec, place| match spec.shape {
            Shape::Poll => poll_site::insertions(text, found, spec, place),
            Shape::Task => task_site::insertions(text, tree, found, spec, place),
        },
    )
}

/// Inserts lines at the given sites of a crate. A source that is not as expected is refused whole.
pub fn edit<'s>(
    source: &CrateSource,
    sites: impl Iterator<Item = &'s SiteSpec>,
    lines: &MakeLines<'_>,
) -> Result<Vec<GraftedFile>> {
    let mut files: Vec<GraftedFile> = Vec::new();
    for spec in sites {
        let place = Place {
            package: source.id(),
            file: spec.file.to_owned(),
            function: spec.function_path(),
        };
        let original = source.read(spec.file)?;
        let tree = syn::parse_file(&original)
            .with_context(|| format!("{}, {}: not a Rust source", source.id(), spec.file))?;
        let found = locate(&tree, spec, &place)?;
        let insertions = lines(&original, &tree, &found, spec, &place)?;
        match files.iter_mut().find(|known| known.file == spec.file) {
            Some(known) => known.sites.push((*spec, insertions)),
            None => files.push(GraftedFile {
                file: spec.file.to_owned(),
                original,
                sites: vec![(*spec, insertions)],
            }),
        }
    }
    Ok(files)
}
