//! What was seen in a slice.

use crate::{site::Site, stats::Counts};

/// What a slice is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    Compare,
    Children,
}

/// A stretch of a run under one variant. What could not be measured is absent.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) pass: Pass,
    pub(crate) block: u64,
    pub(crate) variant: usize,
    pub(crate) duration_ms: f64,
    /// What is counted as sums spans this time.
    pub(crate) sampled_ms: f64,
    pub(crate) requests: u64,
    pub(crate) lost_entries: u64,
    pub(crate) central_cpu_ns: Option<u64>,
    pub(crate) central_runqueue_ns: Option<u64>,
    pub(crate) central_user_ms: Option<f64>,
    pub(crate) central_system_ms: Option<f64>,
    pub(crate) involuntary_switches: Option<u64>,
    pub(crate) steal_ms: Option<f64>,
    pub(crate) retransmits: Option<u64>,
    pub(crate) monitor_task_polls: u64,
    pub(crate) monitor_task_ns: u64,
    pub(crate) monitor_slow_task_polls: u64,
    pub(crate) sites: [Option<SiteSlice>; Site::ALL.len()],
    pub(crate) latency_ns: Counts,
    pub(crate) cotenant_wake_ns: Counts,
    pub(crate) cotenant_timer_ns: Counts,
}

/// What was seen of a site.
#[derive(Clone, Debug)]
pub(crate) struct SiteSlice {
    pub(crate) polls: u64,
    pub(crate) yielded: u64,
    pub(crate) iterations: u64,
    pub(crate) total_ns: u64,
    /// Polls that found the buffer full, and those of children.
    pub(crate) lost: u64,
    pub(crate) duration_ns: Counts,
    /// Of the baseline, since it is asked what a budget could not have prevented.
    pub(crate) longest_iteration_ns: Option<Counts>,
}

impl Slice {
    pub(crate) fn site(&self, site: Site) -> Option<&SiteSlice> {
        self.sites[site as usize].as_ref()
    }
}
