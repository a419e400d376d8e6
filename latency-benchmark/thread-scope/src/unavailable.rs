use thiserror::Error;

/// Something that cannot be seen here, and why not; one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}: {why}")]
pub struct Unavailable {
    /// What is missing.
    pub what: String,
    /// What stands against it, as far as known.
    pub why: String,
}

impl Unavailable {
    /// `what` is missing because of `why`.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Unavailable {
        Unavailable {
            what: what.into(),
            why: why.into(),
        }
    }
}
