//! What is compared.

use crate::Budgets;
use serde::{Deserialize, Serialize};

/// What a variant or a subject is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The others are compared with it.
    Baseline,
    /// A second copy of the baseline: the A/A control. A difference between the two is noise.
    Control,
    /// It is compared with the baseline.
    Candidate,
}

/// A set of budgets under comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantConfig {
    /// The budgets' text, with a mark for the A/A control.
    pub label: String,
    pub role: Role,
    pub budgets: Budgets,
}

/// In characters. Labels of a subject and of a variant are parts of one file name.
pub const LONGEST_LABEL: usize = 90;

/// The variant that the others are compared with.
pub const BASELINE: usize = 0;
