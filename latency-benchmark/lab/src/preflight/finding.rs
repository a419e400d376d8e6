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
    pub(super) fn ok(name: &str, seen: impl Into<String>) -> PreflightFinding {
        PreflightFinding {
            name: name.to_owned(),
            status: PreflightStatus::Ok,
            seen: seen.into(),
            consequence: None,
            remedy: None,
        }
    }

    /// The same with a problem.
    pub(super) fn but(
        self,
        status: PreflightStatus,
        consequence: &str,
        remedy: &str,
    ) -> PreflightFinding {
        PreflightFinding {
            status,
            consequence: Some(consequence.to_owned()),
            remedy: Some(remedy.to_owned()),
            ..self
        }
    }

    /// What was seen when something was tried, or that it failed and what that means.
    pub(super) fn tried(
        name: &str,
        seen: Result<impl Into<String>>,
        (status, consequence): (PreflightStatus, &str),
        remedy: &str,
    ) -> PreflightFinding {
        match seen {
            Ok(seen) => PreflightFinding::ok(name, seen),
            Err(error) => {
                PreflightFinding::ok(name, format!("{error:#}")).but(status, consequence, remedy)
            }
        }
    }

    /// The same if it is as it should be, else with a problem that makes benchmarks less precise.
    pub(super) fn degraded_unless(
        self,
        is_ok: bool,
        consequence: &str,
        remedy: &str,
    ) -> PreflightFinding {
        match is_ok {
            true => self,
            false => self.but(PreflightStatus::Degraded, consequence, remedy),
        }
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
    /// The most important first.
    pub findings: Vec<PreflightFinding>,
    /// Whether cells without a delay can run, without which none can. A cell is one combination of settings in a sweep.
    pub can_run_rtt_zero: bool,
    pub can_run_delayed: bool,
}

impl fmt::Display for Preflight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        let can = |can| if can { "can run" } else { "CANNOT run" };
        writeln!(
            f,
            "cells without a delay (RTT 0) {}",
            can(self.can_run_rtt_zero)
        )?;
        write!(f, "cells with a delay {}", can(self.can_run_delayed))
    }
}
