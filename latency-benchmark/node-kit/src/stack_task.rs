//! Tasks of a network stack, and the lock for data that they share.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A task of the network stack.
pub type StackTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Locks data that is valid even if its last holder panicked.
pub fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
