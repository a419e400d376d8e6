//! Chooses the pictures of a report, and gives the charts their values.

mod heatmaps;
mod input;
pub(crate) mod lines;

pub(crate) use self::input::{ReportInput, ReportPicture, slug};

impl ReportInput<'_> {
    pub(crate) fn pictures(&self) -> Vec<ReportPicture> {
        let mut pictures = heatmaps::before_after(self);
        pictures.extend(lines::curve(self));
        pictures
    }
}
