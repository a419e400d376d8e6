//! Checks what this machine supports and reports all problems at once, each with its remedy.

mod finding;
mod kernel;
mod machine;

pub use self::finding::{Preflight, PreflightFinding, PreflightStatus};
pub use self::machine::busy_cores;
use crate::{EnterError, Inside};

/// Runs all checks. `entered` is the result of [`enter`](crate::enter()), which is one of them.
pub fn preflight(entered: &Result<Inside, EnterError>) -> Preflight {
    let mut preflight = kernel::look(entered);
    preflight.findings.extend(machine::look());
    preflight
}
