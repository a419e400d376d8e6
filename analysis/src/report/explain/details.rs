//! The evidence of a cell, table by table.

use run_format::Site;

use super::{MOST_ROWS, Section};
use crate::explain::events::{self, EventRates};
use crate::explain::worst;
use crate::prose::prose;
use crate::report::markdown::{Document, Row, quoted, table};
use crate::text::number;

const MOST_POLLS: usize = 10;

impl Section<'_> {
    pub(super) fn details(&self, document: &mut Document) {
        let (allocations, functions) = self.allocations().unwrap_or_default();
        let disturbing = events::disturbing_reading(self.evidence, self.site);
        document.prose(&prose!('a "evidence.txt" {
            section: &'a Section<'a> = self,
            allocations: String = allocations,
            functions: String = functions,
            counters: String = self.counters(disturbing.is_none()),
            disturbing: Option<[f64; 2]> = disturbing,
            system_calls: String = self.system_calls().unwrap_or_default(),
            worst: String = self.worst(),
        }));
    }

    fn allocations(&self) -> Option<(String, String)> {
        let by_variant = self.by_variant(events::allocations);
        let (_, baseline) = by_variant.first()?;
        let mut keys: Vec<&(Site, String)> = baseline.keys().collect();
        let most = |key| {
            let (_, rates): &(u64, EventRates) = &baseline[key];
            let rate = rates.per_request.or(rates.per_poll);
            rate.map_or(0.0, |rate| rate.0)
        };
        keys.sort_by(|one, other| most(other).total_cmp(&most(one)));
        let rows = keys.into_iter().take(MOST_ROWS + 2).map(|key| {
            let row = Row::of("site", key.0).with("child", quoted(&key.1));
            by_variant.iter().fold(row, |row, (label, rates)| {
                let rates = rates.get(key).map(|(_, rates)| rates);
                with_rates(row, "objects (bytes) per poll", label, rates)
            })
        });
        let functions = events::allocating_functions(self.evidence, self.site);
        let all: u64 = functions.iter().map(|(_, [objects, _])| objects).sum();
        let functions = functions.iter().take(MOST_ROWS);
        let functions = functions.map(|(function, [objects, bytes])| {
            let percent = 100.0 * *objects as f64 / all.max(1) as f64;
            Row::of("function", quoted(function))
                .with("share of objects, %", number(percent))
                .with("objects", objects)
                .with("bytes", bytes)
        });
        Some((table(rows), table(functions)))
    }

    fn counters(&self, has_polls: bool) -> String {
        let from_ns = self.explanation.slow_from_ns;
        let counters =
            |evidence: &_, variant| events::counters(evidence, variant, self.site, from_ns);
        let by_variant = self.by_variant(counters);
        let variants = by_variant.iter();
        let rates =
            variants.flat_map(|(label, of)| of.iter().map(move |(name, it)| (name, label, it)));
        let mut rates: Vec<_> = rates.collect();
        rates.sort_by_key(|(name, ..)| *name);
        table(rates.into_iter().map(|(name, label, rates)| {
            let by_poll = [rates.per_poll, rates.per_slow_poll];
            let [per_poll, per_slow_poll] = by_poll.map(|it| it.filter(|_| has_polls));
            Row::of("counter", quoted(name))
                .with("variant", label)
                .with_any("per poll", per_poll.map(number))
                .with_any("per slow poll", per_slow_poll.map(number))
                .with_any("whole process, per s", rates.process_per_s.map(number))
        }))
    }

    fn system_calls(&self) -> Option<String> {
        let by_variant =
            self.by_variant(|evidence, variant| events::system_calls(evidence, variant, self.site));
        let (_, baseline) = by_variant.first()?;
        let rows = baseline.iter().take(MOST_ROWS).map(|(name, _)| {
            let row = Row::of("call", quoted(name));
            by_variant.iter().fold(row, |row, (label, calls)| {
                let same = calls.iter().find(|(other, _)| other == name);
                with_rates(row, "per poll", label, same.map(|(_, rates)| rates))
            })
        });
        Some(table(rows))
    }

    fn worst(&self) -> String {
        let worst = worst::polls(self.evidence, 0);
        let of_baseline = worst.iter().filter(|worst| worst.variant == 0);
        table(of_baseline.take(MOST_POLLS).map(|worst| {
            Row::of("rank", worst.poll.rank)
                .with("µs", number(worst.us()))
                .with_any("iterations", worst.poll.iterations)
                .with("iteration by iteration", worst.words())
        }))
    }
}

/// "20.0 (2000)", per poll and per request of a variant.
fn with_rates(row: Row, per_poll: &str, label: &str, rates: Option<&EventRates>) -> Row {
    let rates = rates.copied().unwrap_or_default();
    let pair = |(one, other): (f64, f64)| format!("{} ({})", number(one), number(other));
    row.with_any(format!("{per_poll}, {label}"), rates.per_poll.map(pair))
        .with_any(format!("per request, {label}"), rates.per_request.map(pair))
}
