//! Sites and their levels as files have them.

use run_format::{LevelRecord, Site, SiteLevel};

use crate::sites::{SiteLevels, SiteSpec};

impl SiteSpec {
    /// The site by its name in files, which has the same number.
    pub(crate) fn site(&self) -> Site {
        Site::ALL[usize::from(self.number)]
    }
}

impl SiteLevels {
    /// The levels as files have them.
    pub fn records(&self) -> impl Iterator<Item = LevelRecord> {
        let site = self.spec.site();
        let budget = Site::BUDGETED.contains(&site).then_some(&self.budget);
        let levels = [
            (SiteLevel::Outer, Some(&self.outer)),
            (SiteLevel::Inner, Some(&self.inner)),
            (SiteLevel::Budget, budget),
            (SiteLevel::Remedies, self.remedies.as_ref()),
        ];
        levels.into_iter().filter_map(move |(level, missing)| {
            Some(LevelRecord {
                site,
                level,
                not_there: missing?.clone(),
            })
        })
    }
}
