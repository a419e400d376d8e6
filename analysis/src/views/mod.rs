//! Chooses the pictures of a report, and gives the charts their values.

mod heatmaps;
pub(crate) mod lines;
mod scene;

pub(crate) use self::scene::{Entry, Scene, slug};

impl Scene<'_> {
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries = heatmaps::before_after(self);
        entries.extend(lines::curve(self));
        entries
    }
}
