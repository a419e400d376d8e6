//! Chooses the pictures of a report, and gives the charts their values.

mod heatmaps;
pub(crate) mod lines;
mod scene;
pub(crate) mod search_map;

pub(crate) use self::scene::{Entry, Scene, slug};
use crate::options::PictureGroup;

impl Scene<'_> {
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let wanted = &self.options.pictures.picture;
        let is_wanted = |group| wanted.is_empty() || wanted.contains(&group);
        let mut entries = Vec::new();
        if is_wanted(PictureGroup::BeforeAfter) {
            entries.extend(heatmaps::before_after(self));
            entries.extend(lines::curve(self));
        }
        if is_wanted(PictureGroup::Budgets) {
            entries.extend(lines::budgets(self));
        }
        if is_wanted(PictureGroup::Time) {
            let sites = self.sites.iter();
            entries.extend(sites.filter_map(|site| heatmaps::time(self, *site)));
        }
        entries
    }
}
