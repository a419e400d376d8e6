//! The refusal of a source that is not as expected.

use std::fmt;

#[derive(Clone, Debug)]
pub(crate) struct SourcePlace {
    pub(crate) package: String,
    pub(crate) file: String,
    /// The function, as `Type::function` or `function`.
    pub(crate) function: String,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}", self.package, self.file, self.function)
    }
}

/// A source is not as expected, and nothing was written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place}: looked for {looked_for}, found {found}")]
pub(crate) struct Refused {
    place: SourcePlace,
    looked_for: String,
    found: String,
}

impl SourcePlace {
    pub(crate) fn refused(
        &self,
        looked_for: impl Into<String>,
        found: impl Into<String>,
    ) -> Refused {
        Refused {
            place: self.clone(),
            looked_for: looked_for.into(),
            found: found.into(),
        }
    }
}
