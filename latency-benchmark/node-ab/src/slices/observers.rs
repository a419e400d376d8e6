//! What observes central, and hands what was seen to the slices that it belongs to.

use std::sync::Arc;

use poll_probe::Recorder;
use run_format::Site;

use crate::slices::cotenant::Cotenant;
use crate::slices::{Answered, LogReader, ObservedSlice};

pub struct Observers {
    pub recorder: Arc<Recorder>,
    pub requests: LogReader<Answered>,
    pub cotenants: Vec<Cotenant>,
}

impl Observers {
    /// Empties the buffers into the slices that what is there belongs to. What is lost counts for the last one.
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
        for (of, log) in &mut self.cotenants {
            lost_entries += log.drain(|delay| {
                let mut slices = slices.iter_mut();
                if let Some(slice) = slices.find(|slice| slice.turn_of(delay.since_ns).is_some()) {
                    slice.add_delay(*of, delay);
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
