//! The observers of the measured program. They hand what they saw to the slice to which it belongs.

use std::sync::Arc;

use poll_probe::Recorder;
use run_format::Site;

use crate::slices::cotenant::Cotenant;
use crate::slices::{Answered, LogReader, ObservedSlice};

/// The buffers of everything that observes the measured program.
pub struct Observers {
    pub recorder: Arc<Recorder>,
    pub requests: LogReader<Answered>,
    pub cotenants: Vec<Cotenant>,
}

impl Observers {
    /// Empties the buffers into the slices. Each entry goes to the slice to which it belongs, and losses go to the last one.
    pub fn collect(&mut self, slices: &mut [&mut ObservedSlice]) {
        let drained = self.recorder.drain(|record| {
            for slice in slices.iter_mut() {
                slice.add_record(record);
            }
        });
        let mut lost_entries = self.requests.drain(|answered| {
            for slice in slices.iter_mut() {
                slice.add_request(answered);
            }
        });
        for Cotenant { histogram, delays } in &mut self.cotenants {
            lost_entries += delays.drain(|delay| {
                let has_turn =
                    |slice: &&mut &mut ObservedSlice| slice.turn_of(delay.since_ns).is_some();
                if let Some(slice) = slices.iter_mut().find(has_turn) {
                    slice.add_delay(*histogram, delay);
                }
            });
        }
        if let Some(slice) = slices.last_mut() {
            slice.lost_entries += lost_entries;
            for site in Site::ALL {
                slice.sites[site as usize].row.lost += drained.lost(site.into());
            }
        }
    }
}
