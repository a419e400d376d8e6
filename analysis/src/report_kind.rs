//! The kinds of reports. The terms that a report explains depend on its kind.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportKind {
    Sweep,
    Application,
    Search,
    Rr,
    Soak,
    Comparison,
}

impl ReportKind {
    #[cfg(test)]
    pub(crate) const ALL: [ReportKind; 6] = [
        ReportKind::Sweep,
        ReportKind::Application,
        ReportKind::Search,
        ReportKind::Rr,
        ReportKind::Soak,
        ReportKind::Comparison,
    ];

    /// The name in `terms.txt` and in titles.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReportKind::Sweep => "sweep",
            ReportKind::Application => "application",
            ReportKind::Search => "search",
            ReportKind::Rr => "rr",
            ReportKind::Soak => "soak",
            ReportKind::Comparison => "comparison",
        }
    }
}

impl fmt::Display for ReportKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
