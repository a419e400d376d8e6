//! The budgets of all sites, and their text form.

use std::fmt;
use std::str::FromStr;

use poll_probe::{Budget, Limit};

use crate::{Site, serde_as_text};

/// The bounds of a whole process. The default has none.
///
/// Its text form is `none`, or `SITE=LIMIT[/WAKE]` joined by commas: `connection=8`,
/// `connection=50us`, `muxer=4/deferred`, `connection=8,muxer=2`, `task=coop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Budgets(poll_probe::Budgets);

impl Budgets {
    pub const NONE: Budgets = Budgets(poll_probe::Budgets::NONE);

    pub fn at(&self, site: Site) -> Option<Budget> {
        self.0.at(site.into())
    }
}

impl From<Budgets> for poll_probe::Budgets {
    fn from(budgets: Budgets) -> Self {
        budgets.0
    }
}

/// The accepted forms, for help texts and errors.
pub const BUDGET_FORMS: &str = "none, or SITE=LIMIT[/WAKE] joined by commas; SITE: connection, muxer, task, \
     quic-connection, quic-endpoint; LIMIT: a count of iterations (8), a time (50us, in ns, us, ms, s, min or h) or coop, \
     tokio's own budget; quic-connection takes only a count of datagrams (80, or 80x40 for at most 40 in one system call); \
     quic-endpoint takes no coop; WAKE says when the next poll may come: immediate (the default), or deferred until \
     tokio has polled timers and I/O";

fn refusal(part: &str, problem: impl fmt::Display) -> String {
    format!("budget {part:?}: {problem} (accepted: {BUDGET_FORMS})")
}

impl FromStr for Budgets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        match text {
            "" => return Err(refusal(text, "the text is empty")),
            "none" => return Ok(Budgets::NONE),
            _ => {}
        }
        let mut budgets = Budgets::NONE;
        for part in text.split(',') {
            let part = part.trim();
            let (site, budget) = parse_part(part)?;
            let wrong = |problem: &str| refusal(part, format!("site {site} is {problem}"));
            if !Site::BUDGETED.contains(&site) {
                return Err(wrong("recorded but takes no budget"));
            }
            if budgets.at(site).is_some() {
                return Err(wrong("named twice"));
            }
            budgets.0 = budgets.0.with(site.into(), budget);
        }
        Ok(budgets)
    }
}

fn parse_part(part: &str) -> Result<(Site, Budget), String> {
    let problem = |problem: String| refusal(part, problem);
    if part == "none" {
        return Err(problem("`none` stands alone".into()));
    }
    let Some((site, budget)) = part.split_once('=') else {
        return Err(problem("there is no `=` between a site and a limit".into()));
    };
    let site = site.trim();
    let site: Site = (site.parse()).map_err(|_| problem(format!("unknown site {site:?}")))?;
    let budget: Budget = budget.parse().map_err(problem)?;
    let is_bounded = match budget.limit {
        Limit::Count(_) => true,
        Limit::Time(_) => site != Site::QuicConnection,
        Limit::Coop => !site.is_of_quic(),
    };
    if !is_bounded || (budget.segments.is_some() && site != Site::QuicConnection) {
        return Err(problem(format!("site {site} has no bound of this kind")));
    }
    Ok((site, budget))
}

impl fmt::Display for Budgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |site| Some(format!("{site}={}", self.at(site)?));
        let parts: Vec<String> = Site::BUDGETED.into_iter().filter_map(part).collect();
        match parts.as_slice() {
            [] => f.write_str("none"),
            parts => f.write_str(&parts.join(",")),
        }
    }
}

serde_as_text!(Budgets);
