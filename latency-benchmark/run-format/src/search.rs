//! A search over budgets: sweeps in a folder, one for each round, and `search.json`, which says what they are for.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::plausible::{MS, WHAT_THE_TYPE_ALLOWS, plausible};
use crate::{Budgets, Cell, SweepConfig};

pub const SEARCH: &str = "search.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    pub schema: u32,
    /// The configuration of all rounds. Each round has its own cells, variants, time and seed. The variants here are all
    /// candidates.
    pub config: SweepConfig,
    pub chooses_cells: bool,
    pub time_ms: u64,
}

plausible! { Search;
    schema config chooses_cells: WHAT_THE_TYPE_ALLOWS;
    time_ms: MS;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextRound {
    pub cells: Vec<Cell>,
    /// The candidates, without the baseline.
    pub candidates: Vec<Budgets>,
}

pub fn is_search(dir: &Path) -> bool {
    dir.join(SEARCH).is_file()
}

pub fn first_look(dir: &Path) -> PathBuf {
    dir.join("first-look")
}

pub fn folders(dir: &Path) -> Vec<PathBuf> {
    let all = [first_look(dir)].into_iter().filter(|dir| dir.is_dir());
    all.chain(rounds(dir)).collect()
}

/// The folders of the rounds that have begun, in their order.
pub fn rounds(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let rounds = (1..).map(|number| round(dir, number));
    rounds.take_while(|dir| dir.is_dir())
}

/// The folder of a round. Rounds are numbered from 1.
pub fn round(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("round-{number}"))
}
