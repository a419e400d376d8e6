//! Whether what a variant leaves behind reaches into the next turn: its effect by the time since the change of variant.

use std::collections::BTreeSet;

use run_format::network::Rtt;

use super::markdown::{Document, or_dash, quoted};
use crate::{
    stats::{self, Uncertain},
    summary::{CONFIDENCE, CellSummary, Summary},
    text,
    verdict::Verdict,
};

pub(crate) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    let mut candidates = verdict.candidates.iter().filter(|it| !it.is_idle);
    let Some(candidate) = verdict.best().or_else(|| candidates.next()) else {
        return;
    };
    let ranges = summary
        .measured()
        .flat_map(|cell| cell.measured.after_switch.keys());
    let ranges: BTreeSet<u64> = ranges.copied().collect();
    if ranges.is_empty() {
        return;
    }
    document.paragraph(format!(
        "If effects carry over from one turn to the next, the columns of a row differ. They show the change of the share \
         of slow polls of `{}` by {}, by the time from the change of variant to the start of the poll. Each \
         is a mean over the cells of a round trip, with a 95 % interval of its own. Two turns of one variant can follow \
         each other. Whether columns differ was not tested.",
        summary.function(summary.identity.sites.of_connections()),
        quoted(&candidate.label)
    ));
    let mut head = vec!["RTT".to_owned()];
    let ends = ranges.iter().skip(1).map(Some).chain([None]);
    head.extend(ranges.iter().zip(ends).map(|(from, to)| match to {
        Some(to) => format!("{from}–{to} ms"),
        None => format!("from {from} ms"),
    }));
    let rows = summary.axes.rtt_ms.iter().map(|rtt_ms| {
        let mut row = vec![format!("{rtt_ms} ms")];
        row.extend(ranges.iter().map(|from_ms| {
            let change = change(summary, *rtt_ms, *from_ms, candidate.variant);
            or_dash(
                change.map(|change| text::change(change.value, "pp", change.interval(CONFIDENCE))),
            )
        }));
        row
    });
    document.table(&head.join(" | "), rows);
}

/// In percentage points, over the cells of that round trip. None if no cell has polls there in several blocks.
fn change(summary: &Summary, rtt_ms: Rtt, from_ms: u64, variant: usize) -> Option<Uncertain> {
    const PERCENT: f64 = 100.0;
    let of_cell = |cell: &CellSummary| {
        let change = *cell.measured.after_switch.get(&from_ms)?.get(variant)?;
        Some(change?.times(PERCENT))
    };
    let cells = summary
        .measured()
        .filter(|cell| cell.measured.cell.rtt_ms == rtt_ms);
    stats::mean_over_cells(&cells.filter_map(of_cell).collect::<Vec<_>>())
}
