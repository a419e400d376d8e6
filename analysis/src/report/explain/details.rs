//! The evidence of a cell, table by table.

use run_format::Site;

use super::{MOST_ROWS, Section};
use crate::explain::events::{self, EventRates};
use crate::explain::worst;
use crate::report::markdown::{Document, Row, quoted};
use crate::text::number;

const MOST_POLLS: usize = 10;

impl Section<'_> {
    pub(super) fn allocations(&self, document: &mut Document) {
        let by_variant = self.by_variant(events::allocations);
        let Some((_, baseline)) = by_variant.first() else {
            return;
        };
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
        document.table_below(
            "**Allocations** per poll of the child (for own code: per poll of the site) and per request. Sites nest, so \
             rows of different sites must not be added:",
            rows,
        );
        let functions = events::allocating_functions(self.evidence, self.site);
        let all: u64 = functions.iter().map(|(_, [objects, _])| objects).sum();
        let how_often = self
            .evidence
            .seen
            .objects_per_stack
            .map_or_else(String::new, |objects| {
                format!(" (the stack of one in {} objects)", number(objects as f64))
            });
        let rows = functions.iter().take(MOST_ROWS);
        let rows = rows.map(|(function, [objects, bytes])| {
            let percent = 100.0 * *objects as f64 / all.max(1) as f64;
            Row::of("function", quoted(function))
                .with("share of objects, %", number(percent))
                .with("objects", objects)
                .with("bytes", bytes)
        });
        document.table_below(
            format!(
                "**Functions that allocate most**, from sampled stacks{how_often}, {}:",
                self.of_baseline()
            ),
            rows,
        );
    }

    pub(super) fn counters(&self, document: &mut Document) {
        let from_ns = self.explanation.slow_from_ns;
        let counters =
            |evidence: &_, variant| events::counters(evidence, variant, self.site, from_ns);
        let by_variant = self.by_variant(counters);
        let variants = by_variant.iter();
        let rates =
            variants.flat_map(|(label, of)| of.iter().map(move |(name, it)| (name, label, it)));
        let mut rates: Vec<_> = rates.collect();
        rates.sort_by_key(|(name, ..)| *name);
        let disturbing = events::disturbing_reading(self.evidence, self.site);
        let rows = rates.into_iter().map(|(name, label, rates)| {
            let by_poll = [rates.per_poll, rates.per_slow_poll];
            let [per_poll, per_slow_poll] = by_poll.map(|it| it.filter(|_| disturbing.is_none()));
            Row::of("counter", quoted(name))
                .with("variant", label)
                .with_any("per poll", per_poll.map(number))
                .with_any("per slow poll", per_slow_poll.map(number))
                .with_any("whole process, per s", rates.process_per_s.map(number))
        });
        let above = format!("**Counters** in polls of `{}`:", self.function);
        document.table_below(above, rows);
        if let Some([reading, poll]) = disturbing {
            document.paragraph(format!(
                "Counts by poll are left out, because one reading of the counters takes {} µs here and a poll {} µs in the \
                 mean. There are two readings at each poll and each child.",
                number(reading),
                number(poll)
            ));
        }
    }

    pub(super) fn system_calls(&self, document: &mut Document) {
        let by_variant =
            self.by_variant(|evidence, variant| events::system_calls(evidence, variant, self.site));
        let Some((_, baseline)) = by_variant.first().filter(|(_, calls)| !calls.is_empty()) else {
            return;
        };
        let rows = baseline.iter().take(MOST_ROWS).map(|(name, _)| {
            let row = Row::of("call", quoted(name));
            by_variant.iter().fold(row, |row, (label, calls)| {
                let same = calls.iter().find(|(other, _)| other == name);
                with_rates(row, "per poll", label, same.map(|(_, rates)| rates))
            })
        });
        document.table_below(
            format!(
                "**System calls** per poll of `{}`, and per request (in polls and outside them), with their µs in \
                 parentheses:",
                self.function
            ),
            rows,
        );
        if let Some(ns) = self.evidence.seen.system_call_overhead_ns {
            document.paragraph(format!(
                "Observing a call costs the poll around it {} µs. The kernel's shares in this report do not include \
                 this cost.",
                number(ns as f64 / 1000.0)
            ));
        }
    }

    pub(super) fn worst(&self, document: &mut Document) {
        let worst = worst::polls(self.evidence, 0);
        let of_baseline = worst.iter().filter(|worst| worst.variant == 0);
        let rows = of_baseline.take(MOST_POLLS).map(|worst| {
            Row::of("rank", worst.poll.rank)
                .with("µs", number(worst.us()))
                .with_any("iterations", worst.poll.iterations)
                .with("iteration by iteration", worst.words())
        });
        let [table, trace] = ["worst.csv", "trace.json"].map(|file| self.link(file));
        document.table_below(
            format!(
                "**The slowest polls** {}. For each iteration, the table names the parts that took at least \
                 3 % of the poll. There is [a table of all of them]({table}), and [a trace]({trace}) for the Perfetto UI \
                 and the Firefox Profiler.",
                self.of_baseline()
            ),
            rows,
        );
    }
}

/// "20.0 (2000)", per poll and per request of a variant.
fn with_rates(row: Row, per_poll: &str, label: &str, rates: Option<&EventRates>) -> Row {
    let rates = rates.copied().unwrap_or_default();
    let pair = |(one, other): (f64, f64)| format!("{} ({})", number(one), number(other));
    row.with_any(format!("{per_poll}, {label}"), rates.per_poll.map(pair))
        .with_any(format!("per request, {label}"), rates.per_request.map(pair))
}
