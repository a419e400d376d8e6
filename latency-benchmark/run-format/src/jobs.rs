//! Cells that are measured at the same time.

use serde::{Deserialize, Serialize};

use crate::network::{Cores, Placement};

/// How a sweep measures several cells at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobsConfig {
    /// Where the cells of each job run. At least two.
    pub places: Vec<Placement>,
    /// How many runs are also measured while no other is.
    pub alone: usize,
}

impl JobsConfig {
    /// Where no central runs.
    pub fn peers(&self) -> Cores {
        let cores = self.places.iter().flat_map(|place| place.peers.iter());
        Cores::new(cores).expect("every place has peers")
    }
}
