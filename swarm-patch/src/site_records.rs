//! Sites and their levels as files have them.

use run_format::{LevelRecord, Site, SiteLevel};

use crate::sites::{Level, SiteLevels, SiteSpec};

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
            (SiteLevel::Counts, self.counts.as_ref()),
            (SiteLevel::Remedies, self.remedies.as_ref()),
        ];
        let record = move |(name, level): (SiteLevel, Option<&Level>)| {
            Some(LevelRecord {
                site,
                level: name,
                not_there: level?.reason().map(str::to_owned),
            })
        };
        levels.into_iter().filter_map(record)
    }
}
