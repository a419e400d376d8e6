//! The graft of one crate: its files with the lines of all its sites inserted.

use anyhow::{Context, Result};

use crate::{
    crate_source::CrateSource,
    error::Refused,
    insertion::{Insertion, insert},
    locate::{FoundFunction, locate},
    poll_site,
    sites::{LoopShape, SiteSpec, sites_of},
    task_site,
};

/// A file with lines to insert.
#[derive(Clone, Debug)]
pub struct GraftedFile {
    /// Its path in the crate.
    pub file: String,
    /// Its text without the lines.
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

/// The probe and the budgets at every site of the crate.
pub fn graft(source: &CrateSource) -> Result<Vec<GraftedFile>> {
    edit(source, sites_of(&source.name), |function| {
        match function.spec.shape {
            LoopShape::Poll => poll_site::insertions(function),
            LoopShape::Task => task_site::insertions(function),
        }
    })
}

/// Inserts the `lines` for each of the `sites` of a crate. If one of them is not as expected, the whole
/// crate is refused.
pub(crate) fn edit(
    source: &CrateSource,
    sites: impl Iterator<Item = &'static SiteSpec>,
    lines: impl Fn(&FoundFunction<'_>) -> Result<Vec<Insertion>, Refused>,
) -> Result<Vec<GraftedFile>> {
    let mut files: Vec<GraftedFile> = Vec::new();
    for spec in sites {
        let original = source.read(spec.file)?;
        let tree = syn::parse_file(&original)
            .with_context(|| format!("{}, {}: not a Rust source", source.id(), spec.file))?;
        let function = locate(source.id(), &original, &tree, spec)?;
        let insertions = lines(&function)?;
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
