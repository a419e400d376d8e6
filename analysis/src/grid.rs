//! The cells of a sweep, as its files name them.

use std::fmt;

use serde::Deserialize;

/// One point of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct Cell {
    pub(crate) peers: u32,
    pub(crate) rtt_ms: f64,
    pub(crate) payload_bytes: u64,
}

impl Cell {
    /// Names the cell's folder: `pl065536_rtt025_n05`.
    pub(crate) fn id(&self) -> String {
        let rtt = self.rtt_ms.to_string();
        let (whole, rest) = match rtt.split_once('.') {
            Some((whole, rest)) => (whole, format!(".{rest}")),
            None => (rtt.as_str(), String::new()),
        };
        format!(
            "pl{:06}_rtt{whole:0>3}{rest}_n{:02}",
            self.payload_bytes, self.peers
        )
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "N={}, RTT {} ms, {}",
            self.peers,
            self.rtt_ms,
            payload(self.payload_bytes)
        )
    }
}

/// The values that a sweep covers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Axes {
    pub(crate) peers: Vec<u32>,
    pub(crate) rtt_ms: Vec<f64>,
    pub(crate) payload_bytes: Vec<u64>,
}

impl Axes {
    /// Every combination: payload by payload, round trip by round trip.
    pub(crate) fn cells(&self) -> Vec<Cell> {
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
        cells
    }

    /// In ascending order, without repetition.
    pub(crate) fn sorted(mut self) -> Axes {
        self.peers.sort_unstable();
        self.peers.dedup();
        self.rtt_ms.sort_by(f64::total_cmp);
        self.rtt_ms.dedup();
        self.payload_bytes.sort_unstable();
        self.payload_bytes.dedup();
        self
    }

    /// Those of a set of cells.
    pub(crate) fn of<'a>(cells: impl Iterator<Item = &'a Cell>) -> Axes {
        let mut axes = Axes {
            peers: Vec::new(),
            rtt_ms: Vec::new(),
            payload_bytes: Vec::new(),
        };
        for cell in cells {
            axes.peers.push(cell.peers);
            axes.rtt_ms.push(cell.rtt_ms);
            axes.payload_bytes.push(cell.payload_bytes);
        }
        axes.sorted()
    }
}

/// A size as people write it.
pub(crate) fn payload(bytes: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = KIB * KIB;
    if bytes >= MIB && bytes.is_multiple_of(MIB) {
        format!("{} MiB", bytes / MIB)
    } else if bytes >= KIB && bytes.is_multiple_of(KIB) {
        format!("{} KiB", bytes / KIB)
    } else {
        format!("{bytes} B")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_named_as_its_folder_is() {
        let cell = |rtt_ms| Cell {
            peers: 5,
            rtt_ms,
            payload_bytes: 65536,
        };
        assert_eq!(cell(25.0).id(), "pl065536_rtt025_n05");
        assert_eq!(cell(0.5).id(), "pl065536_rtt000.5_n05");
    }
}
