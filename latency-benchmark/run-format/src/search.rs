//! A search over budgets: sweeps in a folder, one for each round, and `search.json`, which says what they are for.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Budgets, Cell, SweepConfig};

pub const SEARCH: &str = "search.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    pub schema: u32,
    /// Of all rounds, but for their cells, variants, time and seed. Its variants are all candidates.
    pub config: SweepConfig,
    /// Whether a sweep before the first round chooses cells of the grid.
    pub chooses_cells: bool,
    /// For all sweeps together.
    pub time_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextRound {
    pub cells: Vec<Cell>,
    /// Without the baseline.
    pub candidates: Vec<Budgets>,
}

pub fn is_search(dir: &Path) -> bool {
    dir.join(SEARCH).is_file()
}

pub fn first_look(dir: &Path) -> PathBuf {
    dir.join("first-look")
}

pub fn folders(dir: &Path) -> Vec<PathBuf> {
    let all = [first_look(dir)].into_iter().filter(|it| it.is_dir());
    all.chain(rounds(dir)).collect()
}

/// The sweeps of the rounds that there are, in their order.
pub fn rounds(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let rounds = (1..).map(|number| round(dir, number));
    rounds.take_while(|it| it.is_dir())
}

/// The sweep of a round, from 1.
pub fn round(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("round-{number}"))
}
