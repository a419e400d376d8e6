use std::sync::{Mutex, MutexGuard, PoisonError};

/// A panic elsewhere does not harm what a lock protects here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
