//! The part of a large grid that pictures and the page show: not every value of its axes.

use run_format::{Axes, Cell};

use super::{CellSummary, Summary};

/// Nobody reads a picture of more cells. On a page with seven variants each cell takes 18 kB.
const MOST_CELLS: usize = 500;

/// The axes, with every second value of the longest one left out until there are few enough cells.
pub(super) fn axes(all: &Axes) -> Axes {
    let mut axes = all.clone().sorted();
    loop {
        let (peers, rtts) = (axes.peers.len(), axes.rtt_ms.len());
        let payloads = axes.payload_bytes.len();
        if peers * rtts * payloads <= MOST_CELLS {
            return axes;
        }
        match peers.max(rtts).max(payloads) {
            most if most == peers => halve(&mut axes.peers),
            most if most == rtts => halve(&mut axes.rtt_ms),
            _ => halve(&mut axes.payload_bytes),
        }
    }
}

fn halve<T>(values: &mut Vec<T>) {
    let mut index = 0..;
    values.retain(|_| index.next().is_some_and(|index| index % 2 == 0));
}

pub(super) fn has(axes: &Axes, cell: &Cell) -> bool {
    axes.peers.contains(&cell.peers)
        && axes.rtt_ms.contains(&cell.rtt_ms)
        && axes.payload_bytes.contains(&cell.payload_bytes)
}

impl Summary {
    pub(crate) fn shown_axes(&self) -> Axes {
        axes(&self.axes)
    }

    pub(crate) fn shown_cells(&self) -> Vec<&CellSummary> {
        self.shown(&self.cells)
    }

    pub(crate) fn shown<'a>(&self, cells: &'a [CellSummary]) -> Vec<&'a CellSummary> {
        let axes = self.shown_axes();
        let is_shown = |cell: &&CellSummary| has(&axes, &cell.cell());
        cells.iter().filter(is_shown).collect()
    }

    /// Returns words such as "240 of 480 cells". None if all cells are shown.
    pub(crate) fn what_is_shown(&self) -> Option<String> {
        let (shown, all) = (self.shown_cells().len(), self.cells.len());
        (shown < all).then(|| format!("{shown} of {all} cells"))
    }

    /// Says where the figures come from, and how many of them are shown.
    pub(crate) fn line(&self) -> String {
        let shown = self.what_is_shown().map(|shown| format!("shown: {shown}"));
        let parts = [Some(self.identity.line()), shown];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

#[cfg(test)]
mod tests {
    use run_format::{Payload, Rtt};

    use super::*;

    fn grid(peers: usize, rtts: u32, payloads: u32) -> Axes {
        let rtt = |ms| Rtt::from_ms(f64::from(ms)).expect("a round trip");
        Axes {
            peers: (1..=peers).collect(),
            rtt_ms: (0..rtts).map(rtt).collect(),
            payload_bytes: (1..=payloads).map(Payload::of_bytes).collect(),
            only: Vec::new(),
        }
    }

    #[test]
    fn a_large_grid_is_thinned_out_where_it_is_longest() {
        let shown = axes(&grid(22, 30, 20));
        assert_eq!(shown.peers, [1, 5, 9, 13, 17, 21]);
        let steps = [shown.rtt_ms.len(), shown.payload_bytes.len()];
        assert_eq!(steps, [8, 10]);
        assert!(has(&shown, &shown.cells()[0]));
        let all = grid(22, 30, 20).cells();
        assert_eq!(
            all.iter().filter(|cell| has(&shown, cell)).count(),
            6 * 8 * 10
        );
    }

    #[test]
    fn a_small_grid_is_shown_as_it_is() {
        assert_eq!(axes(&grid(10, 10, 5)), grid(10, 10, 5));
        assert_eq!(axes(&grid(5, 6, 4)), grid(5, 6, 4));
    }
}
