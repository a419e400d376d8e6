//! Checks what this machine supports and reports all problems at once, each with its remedy.

mod finding;
mod kernel;
mod machine;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::{
    finding::{PreflightFinding, PreflightStatus},
    machine::busy_cores,
};
use crate::{EnterError, Inside};

/// The results of all checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preflight {
    /// The most important first.
    pub findings: Vec<PreflightFinding>,
    /// Whether cells without a delay can run, without which none can. A cell is one combination of settings in a sweep.
    pub can_run_rtt_zero: bool,
    /// Whether cells with a delay can run.
    pub can_run_delayed: bool,
}

/// Runs all checks. `entered` is the result of [`enter`](crate::enter()), which is one of them.
pub fn preflight(entered: &Result<Inside, EnterError>) -> Preflight {
    let mut preflight = kernel::look(entered);
    preflight.findings.extend(machine::look());
    preflight
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
