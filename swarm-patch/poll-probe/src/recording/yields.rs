//! Counts the polls that a budget ended, in memory that another process may read.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

static YIELDS: OnceLock<&AtomicU64> = OnceLock::new();

/// Counts in `counter` every poll of this process that a budget ends, whether polls are recorded or not. Only the first call
/// has an effect.
pub fn count_yields(counter: &'static AtomicU64) {
    let _ = YIELDS.set(counter);
}

#[cold]
pub(crate) fn note() {
    if let Some(yields) = YIELDS.get() {
        yields.fetch_add(1, Ordering::Relaxed);
    }
}
