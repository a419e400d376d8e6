//! The error of a graft.

use std::fmt::Display;

use crate::sites::Level;

/// The refusal of a source that is not as expected. Nothing was written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(String);

impl From<&Refused> for Level {
    fn from(refused: &Refused) -> Level {
        Level::Missing(refused.to_string())
    }
}

impl Refused {
    /// `place` names the package, the file and the function.
    pub(crate) fn new(place: &str, looked_for: impl Display, found: impl Display) -> Refused {
        Refused(format!("{place}: looked for {looked_for}, found {found}"))
    }
}
