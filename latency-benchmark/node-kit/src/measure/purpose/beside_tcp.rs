//! libp2p and raw TCP take turns.

use std::time::Duration;

use anyhow::Result;
use run_format::plan::block::PlannedSlice;
use run_format::{BlockReport, Role, RunConfig};

use super::{Purpose, without_children};
use crate::load::paths::{PathSwitch, TrafficPath};
use crate::measure::changes::Changes;

pub(super) struct Libp2pAndRawTcp {
    switch: PathSwitch,
    roles: Vec<Role>,
    /// The limit of time for the last requests of a turn.
    patience: Duration,
}

impl Libp2pAndRawTcp {
    pub(super) fn new(switch: PathSwitch, config: &RunConfig) -> Libp2pAndRawTcp {
        const PATIENCE: Duration = Duration::from_secs(10);
        Libp2pAndRawTcp {
            switch,
            roles: config.variants.iter().map(|variant| variant.role).collect(),
            patience: PATIENCE.max(4 * Duration::from_millis(config.plan.turn_ms)),
        }
    }
}

impl Purpose for Libp2pAndRawTcp {
    /// Both paths have a slice for warming up.
    fn warms_up(&self, _: usize, role: Role) -> bool {
        role != Role::Control
    }

    fn slices_of_block(&self, number: u32, variants: usize) -> Vec<PlannedSlice> {
        without_children(number, variants)
    }

    fn switch(&self, slice: Option<PlannedSlice>) -> Result<()> {
        let path = |slice: PlannedSlice| match self.roles[slice.variant] {
            Role::Baseline | Role::Control => TrafficPath::RawTcp,
            Role::Candidate => TrafficPath::Libp2p,
        };
        self.switch.change(slice.map(path), self.patience)
    }

    fn report(&self, mut report: BlockReport, changes: &Changes) -> Option<BlockReport> {
        report.requests_per_s = changes.requests_per_s();
        Some(report)
    }
}
