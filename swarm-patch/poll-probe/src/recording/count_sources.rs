//! Connections and streams that are asked for their counts between measurements, so that no poll waits for an answer.

use std::any::Any;
use std::sync::{Arc, Mutex};

use super::lock::lock;

/// One function for each watched object, which reads its counts. It returns none once the object is gone.
pub(crate) struct CountSources<C>(Mutex<Vec<Read<C>>>);

type Read<C> = Box<dyn Fn() -> Option<C> + Send>;

impl<C: Copy> CountSources<C> {
    pub(crate) const fn new() -> CountSources<C> {
        CountSources(Mutex::new(Vec::new()))
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

    /// The counts of each object that is still there. This takes the lock of each object for a moment.
    pub(crate) fn counts(&self) -> Vec<C> {
        let mut counts = Vec::new();
        let mut all = lock(&self.0);
        all.retain(|read| {
            let read_counts = read();
            counts.extend(read_counts);
            read_counts.is_some()
        });
        counts
    }
}
