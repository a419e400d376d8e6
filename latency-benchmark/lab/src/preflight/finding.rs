//! The findings of the checks of this machine, and their text.

use std::fmt;

use anyhow::Result;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PreflightStatus {
    Ok,
    /// Benchmarks can run, but are less precise or have to use another backend.
    Degraded,
    /// Something does not work at all.
    Missing,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreflightFinding {
    pub name: String,
    pub status: PreflightStatus,
    pub seen: String,
    pub consequence: Option<String>,
    pub remedy: Option<String>,
}

impl PreflightFinding {
    /// Makes a finding. `seen` begins with whether there is no problem. If there is one, the finding has the given status,
    /// consequence and remedy.
    pub(super) fn new(
        name: &str,
        (is_ok, seen): (bool, impl Into<String>),
        (status, consequence): (PreflightStatus, &str),
        remedy: &str,
    ) -> PreflightFinding {
        let unless_ok = |text: &str| (!is_ok).then(|| text.to_owned());
        PreflightFinding {
            name: name.to_owned(),
            status: if is_ok { PreflightStatus::Ok } else { status },
            seen: seen.into(),
            consequence: unless_ok(consequence),
            remedy: unless_ok(remedy),
        }
    }

    /// Makes a finding about something that was tried: either what was seen, or the error and its consequence.
    pub(super) fn tried(
        name: &str,
        seen: Result<impl Into<String>>,
        problem: (PreflightStatus, &str),
        remedy: &str,
    ) -> PreflightFinding {
        let seen = match seen {
            Ok(seen) => (true, seen.into()),
            Err(error) => (false, format!("{error:#}")),
        };
        PreflightFinding::new(name, seen, problem, remedy)
    }
}

impl fmt::Display for PreflightFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = match self.status {
            PreflightStatus::Ok => "ok",
            PreflightStatus::Degraded => "degraded",
            PreflightStatus::Missing => "MISSING",
        };
        write!(f, "{status:<9} {:<19} {}", self.name, self.seen)?;
        for (what, text) in [("consequence", &self.consequence), ("remedy", &self.remedy)] {
            if let Some(text) = text {
                write!(f, "\n{:<9} {:<19}   {what}: {text}", "", "")?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preflight {
    /// The findings, the most important first.
    pub findings: Vec<PreflightFinding>,
    /// Whether cells without a delay can run. If not, no cell can. A cell is one combination of settings in a sweep.
    pub can_run_rtt_zero: bool,
    pub can_run_delayed: bool,
}

impl fmt::Display for Preflight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        let can = |can| if can { "can run" } else { "CANNOT run" };
        let [rtt_zero, delayed] = [self.can_run_rtt_zero, self.can_run_delayed].map(can);
        writeln!(f, "cells without a delay (RTT 0) {rtt_zero}")?;
        writeln!(f, "cells with a delay {delayed}")?;
        f.write_str("`./sweep.sh --gate` can run, because it counts inside one process")
    }
}
