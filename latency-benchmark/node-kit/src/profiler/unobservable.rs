use thiserror::Error;

/// Something that cannot be observed on this machine, and the reason, as one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}: {why}")]
pub struct Unobservable {
    /// The quantity that cannot be observed.
    pub what: String,
    /// The reason, as far as it is known.
    pub why: String,
}

impl Unobservable {
    /// `what` cannot be observed because of `why`.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Unobservable {
        Unobservable {
            what: what.into(),
            why: why.into(),
        }
    }
}
