//! What this machine can do and what it cannot, all at once, each with its remedy.

mod kernel;
mod machine;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{EnterError, Inside};

/// How well one thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Measurements work but say less, or another way has to be taken.
    Degraded,
    /// Something cannot be done at all.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked at.
    pub name: String,
    /// How well it is.
    pub status: Status,
    /// What was seen.
    pub seen: String,
    /// What that leads to. Null if all is well.
    pub consequence: Option<String>,
    /// What helps. Null if all is well.
    pub remedy: Option<String>,
}

impl Finding {
    fn ok(name: &str, seen: impl Into<String>) -> Finding {
        Finding {
            name: name.to_owned(),
            status: Status::Ok,
            seen: seen.into(),
            consequence: None,
            remedy: None,
        }
    }

    fn degraded(name: &str, seen: impl Into<String>, consequence: &str, remedy: &str) -> Finding {
        Finding {
            status: Status::Degraded,
            consequence: Some(consequence.to_owned()),
            remedy: Some(remedy.to_owned()),
            ..Finding::ok(name, seen)
        }
    }

    fn missing(name: &str, seen: impl Into<String>, consequence: &str, remedy: &str) -> Finding {
        Finding {
            status: Status::Missing,
            ..Finding::degraded(name, seen, consequence, remedy)
        }
    }
}

/// All that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preflight {
    /// In the order of importance.
    pub findings: Vec<Finding>,
    /// Whether cells without a delay can run.
    pub can_run_rtt_zero: bool,
    /// Whether cells with a delay can run.
    pub can_run_delayed: bool,
}

impl Preflight {
    /// Whether any cell could run.
    pub fn can_run_any(&self) -> bool {
        self.can_run_rtt_zero
    }
}

/// Looks at everything. Takes what [`enter`](crate::enter) returned, since that is part of it.
pub fn preflight(entered: &Result<Inside, EnterError>) -> Preflight {
    let kernel = kernel::look(entered);
    let mut findings = kernel.findings;
    findings.extend(machine::look());
    Preflight {
        findings,
        can_run_rtt_zero: kernel.can_run_rtt_zero,
        can_run_delayed: kernel.can_run_delayed,
    }
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

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = match self.status {
            Status::Ok => "ok",
            Status::Degraded => "degraded",
            Status::Missing => "MISSING",
        };
        write!(f, "{status:<9} {:<19} {}", self.name, self.seen)?;
        for (what, text) in [("so", &self.consequence), ("remedy", &self.remedy)] {
            if let Some(text) = text {
                write!(f, "\n{:<9} {:<19}   {what}: {text}", "", "")?;
            }
        }
        Ok(())
    }
}
