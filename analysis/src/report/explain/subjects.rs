//! Subjects side by side: flame graphs, and what each does for a request.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{MOST_ROWS, Section};
use crate::explain::events;
use crate::explain::flamegraph::{CellFlamegraph, flamegraphs};
use crate::report::markdown::{Document, Row};
use crate::stats::{CellEstimate, change};
use crate::text::{number, uncertain};

impl Section<'_> {
    /// The flame graphs of slow polls, and below them what changes.
    pub(super) fn side_by_side(&self, document: &mut Document) {
        let all = flamegraphs(self.explanation, self.cell);
        let of_slow = |end| all.iter().filter(move |it| it.name.ends_with(end));
        let picture = |it: &CellFlamegraph| {
            let file = self.link(&it.name);
            format!("[![{}]({file})]({file})", it.link.replace('`', ""))
        };
        let row = of_slow("slow.svg").map(|it| (it.link.clone(), picture(it)));
        let row: Vec<_> = row.collect();
        if !row.is_empty() {
            document.table([Row(row)]);
        }
        of_slow("slow-difference.svg").for_each(|it| document.paragraph(picture(it)));
    }

    pub(super) fn per_request(&self, document: &mut Document) {
        let mut often: BTreeMap<&str, u64> = BTreeMap::new();
        let launches = self.cell.launches.values();
        for row in launches.flat_map(|evidence| &evidence.system_calls) {
            *often.entry(&row.what).or_default() += row.count;
        }
        let mut calls: Vec<&str> = often.keys().copied().collect();
        calls.sort_by_key(|call| Reverse(often[call]));
        calls.truncate(MOST_ROWS);
        let counted =
            self.by_variant(|evidence, variant| events::by_request(evidence, variant, &calls));
        let (_, baseline) = &counted[0];
        let rows = baseline.iter().enumerate().map(|(at, (what, before))| {
            let row = Row::of("per request", what);
            let launches = counted.iter().enumerate();
            launches.fold(row, |row, (launch, (label, counts))| {
                let (_, counted) = &counts[at];
                let row = row.with_any(label, counted.as_ref().map(|it| number(it.value)));
                match launch {
                    0 => row,
                    _ => row.with_any("change", changed(before.as_ref(), counted.as_ref())),
                }
            })
        });
        document.table_below(
            "**Allocations and system calls per request.** Intervals (95 %) come from the slices of one launch of each program. \
             What changes from launch to launch is not in them.",
            rows,
        );
    }
}

fn changed(before: Option<&CellEstimate>, after: Option<&CellEstimate>) -> Option<String> {
    let relative = change(before?, after?)?.relative?;
    Some(uncertain(&relative.times(100.0), "%"))
}
