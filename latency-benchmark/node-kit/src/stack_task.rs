//! Tasks that a network stack asks to be started, and what they share.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A task of the network stack.
pub type StackTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Locks what no holder leaves half done.
pub fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
