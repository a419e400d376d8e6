//! The cells of a sweep, and how they are divided: over several machines, and over the cores of one.

use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::plausible::{MeasuredSpan, PEERS, PlausibleValue, WHAT_THE_TYPE_ALLOWS, plausible};
use crate::{Cores, Payload, Placement, Rtt};

/// One point of the grid. The default is the cell of an application, whose peers, network and payload are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    pub peers: usize,
    pub rtt_ms: Rtt,
    pub payload_bytes: Payload,
}

plausible! { Cell;
    peers: PEERS;
    rtt_ms payload_bytes: WHAT_THE_TYPE_ALLOWS;
}

impl Cell {
    pub fn is_application(&self) -> bool {
        self.peers == 0
    }

    /// The cell's name in files: `pl065536_rtt025_n05`. Names are in the order of the numbers up to 999,999 bytes, 999 ms and
    /// 99 peers, if round trips are whole milliseconds.
    pub fn id(&self) -> String {
        if self.is_application() {
            return "application".to_owned();
        }
        let rtt = self.rtt_ms.to_string();
        let (whole, rest) = rtt.split_at(rtt.find('.').unwrap_or(rtt.len()));
        let (payload, peers) = (self.payload_bytes.bytes(), self.peers);
        format!("pl{payload:06}_rtt{whole:0>3}{rest}_n{peers:02}")
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_application() {
            return f.pad("the application");
        }
        let (rtt_ms, payload) = (self.rtt_ms, self.payload_bytes.in_words());
        f.pad(&format!("N={}, RTT {rtt_ms} ms, {payload}", self.peers))
    }
}

/// The lists whose combinations are the cells of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axes {
    pub peers: Vec<usize>,
    pub rtt_ms: Vec<Rtt>,
    pub payload_bytes: Vec<Payload>,
    /// The chosen cells. If it is empty, every combination is a cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Cell>,
}

/// The most cells of a grid.
pub(crate) const MOST_CELLS: f64 = 100_000.0;

impl PlausibleValue for Axes {
    fn check_in(&self, _: &str, _: &RangeInclusive<f64>, span: &MeasuredSpan) -> Result<()> {
        self.peers.check_in("peers", &PEERS, span)?;
        self.only.check_in("only", &WHAT_THE_TYPE_ALLOWS, span)?;
        let cells = self.most_cells();
        ensure!(
            cells <= MOST_CELLS,
            "axes have {cells} cells (possible: 0 to {MOST_CELLS})"
        );
        Ok(())
    }
}

impl Axes {
    /// Every combination, or those that are chosen.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &payload_bytes in &self.payload_bytes {
            for &rtt_ms in &self.rtt_ms {
                for &peers in &self.peers {
                    cells.push(Cell {
                        peers,
                        rtt_ms,
                        payload_bytes,
                    });
                }
            }
        }
        let only: HashSet<&Cell> = self.only.iter().collect();
        cells.retain(|cell| only.is_empty() || only.contains(cell));
        cells
    }

    /// The number of cells that these lists make at most. It makes none of them.
    pub(crate) fn most_cells(&self) -> f64 {
        let combinations =
            self.peers.len() as f64 * self.rtt_ms.len() as f64 * self.payload_bytes.len() as f64;
        combinations.max(self.only.len() as f64)
    }

    pub fn only(cells: Vec<Cell>) -> Axes {
        Axes {
            only: cells.clone(),
            ..Axes::of_cells(cells.iter())
        }
    }

    /// The same values in ascending order, each once.
    pub fn sorted(mut self) -> Axes {
        fn sort<T: Ord>(values: &mut Vec<T>) {
            values.sort_unstable();
            values.dedup();
        }
        sort(&mut self.peers);
        sort(&mut self.rtt_ms);
        sort(&mut self.payload_bytes);
        self
    }

    /// The smallest axes that have all these cells.
    pub fn of_cells<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> Axes {
        Axes {
            peers: cells.clone().map(|cell| cell.peers).collect(),
            rtt_ms: cells.clone().map(|cell| cell.rtt_ms).collect(),
            payload_bytes: cells.map(|cell| cell.payload_bytes).collect(),
            only: Vec::new(),
        }
        .sorted()
    }
}

/// A part of a sweep that is measured apart. `index` is its number, from 1, and `of` how many parts there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    pub index: u32,
    pub of: u32,
}

plausible! { Shard;
    index of: 1.0..=MOST_CELLS;
}

impl Shard {
    pub fn folder(self, sweep: &Path) -> PathBuf {
        let name = sweep.file_name().unwrap_or_default().to_string_lossy();
        sweep.with_file_name(format!("{name}-shard-{}-of-{}", self.index, self.of))
    }

    pub fn all(self) -> impl Iterator<Item = Shard> {
        (1..=self.of).map(move |index| Shard { index, ..self })
    }
}

/// The configuration of a sweep that measures several cells at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobsConfig {
    /// The cores of each job. There are at least two jobs.
    pub places: Vec<Placement>,
    /// The number of launches that are also measured while no other cell is, to show what jobs do to each other.
    pub alone: usize,
}

plausible! { JobsConfig;
    places: WHAT_THE_TYPE_ALLOWS;
    alone: 0.0..=MOST_CELLS;
}

impl JobsConfig {
    /// The cores on which no central runs.
    pub fn peers(&self) -> Cores {
        let cores = self.places.iter().flat_map(|place| place.peers.iter());
        Cores::new(cores).expect("every place has peers")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(peers: usize, rtt: &str, payload: &str) -> Cell {
        Cell {
            peers,
            rtt_ms: rtt.parse().expect("a time"),
            payload_bytes: payload.parse().expect("a size"),
        }
    }

    #[test]
    fn ids_name_cells() {
        assert_eq!(cell(5, "25", "64KiB").id(), "pl065536_rtt025_n05");
        assert_eq!(cell(64, "0.5", "0B").id(), "pl000000_rtt000.5_n64");
        assert_eq!(cell(100, "200", "16MiB").id(), "pl16777216_rtt200_n100");
    }

    #[test]
    fn the_grid_has_every_combination_once() {
        let axes = Axes {
            peers: vec![1, 2],
            rtt_ms: vec!["0".parse().expect("a time"), "5".parse().expect("a time")],
            payload_bytes: vec![Payload::kib(4), Payload::kib(64), Payload::kib(256)],
            only: Vec::new(),
        };
        let mut ids: Vec<String> = axes.cells().iter().map(Cell::id).collect();
        assert_eq!(ids.len(), 12);
        ids.dedup();
        assert_eq!(ids.len(), 12);
    }

    #[test]
    fn chosen_cells_are_the_only_ones() {
        let chosen = vec![cell(1, "0", "4KiB"), cell(5, "25", "64KiB")];
        assert_eq!(Axes::only(chosen.clone()).cells(), chosen);
    }

    /// The test would not end soon if every cell were searched in a list.
    #[test]
    fn a_hundred_thousand_cells_can_be_chosen() {
        let cells = (0..100_000).map(|bytes| Cell {
            payload_bytes: Payload::of_bytes(bytes),
            ..cell(1, "0", "0B")
        });
        assert_eq!(Axes::only(cells.collect()).cells().len(), 100_000);
    }
}
