//! The refusal of a source that is not as expected.

use std::fmt::Display;

/// A source is not as expected, and nothing was written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(String);

impl Refused {
    /// `place` names the package, the file and the function.
    pub(crate) fn new(place: &str, looked_for: impl Display, found: impl Display) -> Refused {
        Refused(format!("{place}: looked for {looked_for}, found {found}"))
    }
}
