//! What is said when a source is not as expected.

use std::fmt;

/// The place in a source that a sentence is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name and version of the crate.
    pub package: String,
    /// The file, relative to the crate.
    pub file: String,
    /// The function, as `Type::function` or `function`.
    pub function: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}", self.package, self.file, self.function)
    }
}

/// A source is not as expected, and nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: looked for {looked_for}, found {found}")]
pub struct Refused {
    /// Where.
    pub place: Place,
    /// What should have been there.
    pub looked_for: String,
    /// What was there.
    pub found: String,
}

impl Place {
    /// The source at this place is not as expected.
    pub fn refused(&self, looked_for: impl Into<String>, found: impl Into<String>) -> Refused {
        Refused {
            place: self.clone(),
            looked_for: looked_for.into(),
            found: found.into(),
        }
    }
}
