//! The findings of the checks of this machine, and their text.

use std::fmt;

use anyhow::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreflightStatus {
    Ok,
    /// Benchmarks can run, but are less precise or have to use another backend.
    Degraded,
    /// Something does not work at all.
    Missing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreflightFinding {
    pub name: String,
    pub status: PreflightStatus,
    pub seen: String,
    pub consequence: Option<String>,
    pub remedy: Option<String>,
}

/// What a check saw, in words.
pub(super) enum Seen {
    Fine(String),
    Problem(String),
}

impl Seen {
    pub(super) fn fine_if(is_fine: bool, text: impl Into<String>) -> Seen {
        if is_fine {
            Seen::Fine(text.into())
        } else {
            Seen::Problem(text.into())
        }
    }
}

impl PreflightFinding {
    /// Makes a finding. If there is a problem, the finding has the given status, consequence and remedy.
    pub(super) fn new(
        name: &str,
        seen: Seen,
        (status, consequence): (PreflightStatus, &str),
        remedy: &str,
    ) -> PreflightFinding {
        let name = name.to_owned();
        match seen {
            Seen::Fine(seen) => PreflightFinding {
                name,
                status: PreflightStatus::Ok,
                seen,
                consequence: None,
                remedy: None,
            },
            Seen::Problem(seen) => PreflightFinding {
                name,
                status,
                seen,
                consequence: Some(consequence.to_owned()),
                remedy: Some(remedy.to_owned()),
            },
        }
    }

    /// Makes a finding about something that was tried. An error is a problem.
    pub(super) fn tried(
        name: &str,
        outcome: Result<impl Into<String>>,
        problem: (PreflightStatus, &str),
        remedy: &str,
    ) -> PreflightFinding {
        let seen = match outcome {
            Ok(text) => Seen::Fine(text.into()),
            Err(error) => Seen::Problem(format!("{error:#}")),
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

#[derive(Clone, Debug, PartialEq, Eq)]
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
