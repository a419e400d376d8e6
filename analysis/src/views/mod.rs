//! From a summary to pictures: chooses what is drawn, and gives the charts their values.

mod before_after;
mod bounds;
mod budgets;
pub(crate) mod drift;
mod effects;
mod grid;
mod heatmaps;
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
    /// All pictures that the options ask for.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        type Make = fn(&Scene) -> Vec<Entry>;
        const GROUPS: [(PictureGroup, Make); 6] = [
            (PictureGroup::BeforeAfter, before_after::entries),
            (PictureGroup::Budgets, budgets::entries),
            (PictureGroup::Budgets, bounds::entries),
            (PictureGroup::Heatmaps, heatmaps::entries),
            (PictureGroup::Effects, effects::entries),
            (PictureGroup::Time, time::entries),
        ];
        let wanted = &self.options.picture;
        let groups = GROUPS.iter();
        groups
            .filter(|(group, _)| wanted.is_empty() || wanted.contains(group))
            .flat_map(|(_, entries)| entries(self))
            .collect()
    }
}

/// Draws all pictures.
pub(crate) fn write(entries: &[Entry], dir: &Path) -> Result<()> {
    entries.par_iter().try_for_each(|entry| {
        charts::write(
            entry.picture.as_ref(),
            &dir.join(&entry.stem),
            &entry.formats,
        )
    })
}
