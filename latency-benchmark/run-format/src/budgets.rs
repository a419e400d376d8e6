//! The budgets of all sites, and their text form.

use std::fmt;
use std::str::FromStr;

use poll_probe::{Budget, Limit};

use crate::{Remedy, Site, serde_as_text};

/// The budgets of a whole process with its remedies, and which processes have them. The default has neither.
///
/// Its text form is `none`, or parts joined by commas: `SITE=LIMIT[/WAKE]` or `REMEDY=AMOUNT`, such as `connection=8`,
/// `connection=50us`, `muxer=4/deferred`, `task=coop` or `flush=32KiB,muxer=1`. With `@both` behind it the peers have the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Budgets {
    of_process: poll_probe::ProcessBudgets,
    pub ends: Ends,
}

/// The ends of a connection that have a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Ends {
    /// Central alone, as in a node whose operator patches it.
    #[default]
    Central,
    /// Central and its peers, as after a merge upstream.
    Both,
}

impl Budgets {
    pub const NONE: Budgets = Budgets {
        of_process: poll_probe::ProcessBudgets::NONE,
        ends: Ends::Central,
    };

    pub fn at(&self, site: Site) -> Option<Budget> {
        self.of_process.at(site.into())
    }

    /// The remedies that are in force.
    pub fn remedies(&self) -> impl Iterator<Item = Remedy> {
        let of_process = self.of_process;
        let all = Remedy::ALL.into_iter();
        all.filter(move |remedy| of_process.remedy(remedy.number()))
    }

    /// True if the budgets change nothing until they end a poll of central.
    pub fn only_ends_polls_of_central(&self) -> bool {
        self.ends == Ends::Central && self.remedies().next().is_none()
    }

    /// Whether there is a bound, and no remedy.
    pub fn has_only_bounds(&self) -> bool {
        !self.is_none() && self.remedies().next().is_none()
    }

    /// Whether there is neither a bound nor a remedy.
    pub fn is_none(&self) -> bool {
        self.of_process == poll_probe::ProcessBudgets::NONE
    }

    /// The same bounds at these ends.
    pub fn with_ends(self, ends: Ends) -> Budgets {
        Budgets { ends, ..self }
    }

    pub fn in_central(&self) -> poll_probe::ProcessBudgets {
        self.of_process
    }

    pub fn in_peers(&self) -> poll_probe::ProcessBudgets {
        match self.ends {
            Ends::Central => poll_probe::ProcessBudgets::NONE,
            Ends::Both => self.of_process,
        }
    }
}

/// The accepted forms, for help texts and errors.
pub const BUDGET_FORMS: &str = "none, or SITE=LIMIT[/WAKE] joined by commas; SITE: connection, muxer, task, \
     quic-connection, quic-endpoint; LIMIT: a count of iterations (8), a time (50us, in ns, us, ms, s, min or h) or coop, \
     tokio's own budget; quic-connection takes only a count of datagrams (80, or 80x40 for at most 40 in one system call); \
     quic-endpoint takes no coop; WAKE says when the next poll may come: immediate (the default), or deferred until \
     tokio has polled timers and I/O; flush=32KiB has yamux flush after 32 KiB and once no frame waits; @both at the end, as in muxer=1/deferred@both: the peers have the same bounds";

/// The suffix for bounds at both ends of a connection.
const AT_BOTH: &str = "@both";

fn refusal(part: &str, problem: impl fmt::Display) -> String {
    format!("budget {part:?}: {problem} (accepted: {BUDGET_FORMS})")
}

impl FromStr for Budgets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let (bounds, ends) = match text.strip_suffix(AT_BOTH) {
            Some(bounds) => (bounds, Ends::Both),
            None => (text, Ends::Central),
        };
        let mut budgets = Budgets {
            ends,
            ..Budgets::NONE
        };
        match bounds {
            "" => return Err(refusal(text, "the text is empty")),
            "none" => return Ok(budgets),
            _ => {}
        }
        for part in bounds.split(',').map(str::trim) {
            budgets.of_process = budgets.with_part(part).map_err(|why| refusal(part, why))?;
        }
        Ok(budgets)
    }
}

impl Budgets {
    /// The bounds with one more part of the text form.
    fn with_part(&self, part: &str) -> Result<poll_probe::ProcessBudgets, String> {
        if part == "none" {
            return Err("`none` stands alone".to_owned());
        }
        let Some((name, value)) = part.split_once('=') else {
            return Err("there is no `=` between a site and a limit".to_owned());
        };
        let name = name.trim();
        if let Ok(remedy) = name.parse::<Remedy>() {
            let (amount, asked) = (remedy.amount(), value.trim());
            if asked != amount {
                return Err(format!("{name} takes {amount}, not {asked:?}"));
            }
            if self.of_process.remedy(remedy.number()) {
                return Err(format!("{name} is named twice"));
            }
            return Ok(self.of_process.with_remedy(remedy.number()));
        }
        let site: Site = name.parse().map_err(|_| format!("unknown site {name:?}"))?;
        let budget: Budget = value.parse()?;
        let can_be_bounded = match budget.limit {
            Limit::Count(_) => true,
            Limit::Time(_) => site != Site::QuicConnection,
            Limit::Coop => !site.is_of_quic(),
        };
        if !can_be_bounded || (budget.segments.is_some() && site != Site::QuicConnection) {
            return Err(format!("site {site} has no bound of this kind"));
        }
        if !Site::BUDGETED.contains(&site) {
            return Err(format!("site {site} is recorded but takes no budget"));
        }
        if self.at(site).is_some() {
            return Err(format!("site {site} is named twice"));
        }
        Ok(self.of_process.with(site.into(), budget))
    }
}

impl fmt::Display for Budgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |site| Some(format!("{site}={}", self.at(site)?));
        let remedies = self
            .remedies()
            .map(|remedy| format!("{}={}", remedy.name(), remedy.amount()));
        let bounds = Site::BUDGETED.into_iter().filter_map(part);
        let parts: Vec<String> = remedies.chain(bounds).collect();
        match parts.as_slice() {
            [] => f.write_str("none")?,
            parts => f.write_str(&parts.join(","))?,
        }
        match self.ends {
            Ends::Central => Ok(()),
            Ends::Both => f.write_str(AT_BOTH),
        }
    }
}

serde_as_text!(Budgets);
