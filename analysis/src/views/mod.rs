//! From a summary to pictures: chooses what is drawn, and gives the charts their values.

mod before_after;
mod budgets;
mod curve;
pub(crate) mod drift;
mod grid;
pub(crate) mod rr;
mod scene;
pub(crate) mod search_map;
mod time;

use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;

pub(crate) use self::scene::{Entry, Scene, slug};
use crate::{charts, options::PictureGroup};

impl Scene<'_> {
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let wanted = &self.options.pictures.picture;
        let is_wanted = |group| wanted.is_empty() || wanted.contains(&group);
        let mut entries = Vec::new();
        if is_wanted(PictureGroup::BeforeAfter) {
            entries.extend(before_after::entries(self));
            entries.extend(curve::entry(self));
        }
        if is_wanted(PictureGroup::Budgets) {
            entries.extend(budgets::entry(self));
        }
        if is_wanted(PictureGroup::Time) {
            entries.extend(time::entries(self));
        }
        entries
    }
}

pub(crate) fn write(entries: &[Entry], dir: &Path) -> Result<()> {
    entries.par_iter().try_for_each(|entry| {
        let stem = dir.join(&entry.stem);
        charts::write(entry.picture.as_ref(), &stem, &entry.formats)
    })
}
