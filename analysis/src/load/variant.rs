//! What is under comparison.

use serde::{Deserialize, Serialize};

/// What a variant is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    Baseline,
    Twin,
    Candidate,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Variant {
    pub(crate) label: String,
    pub(crate) role: Role,
    pub(crate) budgets: String,
    /// Index into the subjects, if there are any.
    #[serde(skip)]
    pub(crate) subject: usize,
}
