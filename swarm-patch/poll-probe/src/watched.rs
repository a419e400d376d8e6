//! What is asked for its counts between measurements, so that no poll waits for it.

use std::any::Any;
use std::sync::{Arc, Mutex};

use crate::lock::lock;

/// How to read the counts of things that may be gone.
pub(crate) struct Watched<C>(Mutex<Vec<Read<C>>>);

type Read<C> = Box<dyn Fn() -> Option<C> + Send>;

impl<C: Copy> Watched<C> {
    pub(crate) const fn new() -> Watched<C> {
        Watched(Mutex::new(Vec::new()))
    }

    pub(crate) fn add<T: Any + Send + Sync>(
        &self,
        watched: &Arc<T>,
        read: impl Fn(&T) -> C + Send + 'static,
    ) {
        let watched = Arc::downgrade(watched);
        let mut all = lock(&self.0);
        all.push(Box::new(move || Some(read(&*watched.upgrade()?))));
    }

    /// The counts of each that is there. It takes the lock of each for a moment.
    pub(crate) fn counts(&self) -> Vec<C> {
        let mut counts = Vec::new();
        let mut all = lock(&self.0);
        all.retain(|read| {
            let read = read();
            counts.extend(read);
            read.is_some()
        });
        counts
    }
}
