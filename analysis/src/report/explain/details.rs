//! The evidence of a cell, table by table.

use run_format::Site;

use super::{MOST_ROWS, Section};
use crate::{
    explain::{
        events::{self, EventRates},
        worst,
    },
    report::markdown::{Document, or_dash, quoted},
    text::number,
};

/// The most polls in the report; `worst.csv` has all of them.
const MOST_POLLS: usize = 10;

impl Section<'_> {
    pub(super) fn allocations(&self, document: &mut Document) {
        let (evidence, site) = (self.evidence, self.site);
        let by_variant = self.by_variant(|variant| events::allocations(evidence, variant));
        let Some(baseline) = by_variant.first().filter(|it| !it.is_empty()) else {
            return;
        };
        document.paragraph(
            "**Allocations** per poll of the child (for own code: per poll of the site) and per request. Sites nest, so \
             rows of different sites must not be added:",
        );
        let mut keys: Vec<&(Site, String)> = baseline.keys().collect();
        let most = |key| {
            let (_, of): &(_, EventRates) = &baseline[key];
            of.per_request.or(of.per_poll).map_or(0.0, |it| it.0)
        };
        keys.sort_by(|one, other| most(other).total_cmp(&most(one)));
        let row = |key: &&(Site, String)| {
            let mut row = vec![key.0.name().to_owned(), quoted(&key.1)];
            let of = by_variant.iter().map(|of| of.get(*key));
            row.extend(of.flat_map(|of| pairs(of.map(|(_, rates)| rates))));
            row
        };
        let columns = ["objects (bytes) per poll", "per request"];
        let head = self.head("site | child", &columns);
        document.table(&head, keys.iter().take(MOST_ROWS + 2).map(row));
        let functions = events::allocating_functions(evidence, site);
        if functions.is_empty() {
            return;
        }
        let all: u64 = functions.iter().map(|(_, [objects, _])| objects).sum();
        let how_often = evidence.seen.objects_per_stack;
        let how_often = how_often.map_or_else(String::new, |objects| {
            format!(" (the stack of one in {} objects)", number(objects as f64))
        });
        document.paragraph(format!(
            "**Functions that allocate most**, from sampled stacks{how_often}, without a budget:"
        ));
        document.table(
            "function | share of objects, % | objects | bytes",
            functions
                .iter()
                .take(MOST_ROWS)
                .map(|(function, [objects, bytes])| {
                    vec![
                        quoted(function),
                        number(100.0 * *objects as f64 / all.max(1) as f64),
                        objects.to_string(),
                        bytes.to_string(),
                    ]
                }),
        );
    }

    pub(super) fn counters(&self, document: &mut Document) {
        let (evidence, site) = (self.evidence, self.site);
        let mut rows = Vec::new();
        for (variant, label) in &self.explanation.variants {
            let rates = events::counters(evidence, *variant, site, self.explanation.slow_from_ns);
            rows.extend(rates.into_iter().map(|(name, it)| {
                let mut row = vec![quoted(name), quoted(label)];
                let figures = [it.per_poll, it.per_slow_poll, it.process_per_s];
                row.extend(figures.map(|value| or_dash(value.map(number))));
                row
            }));
        }
        if rows.is_empty() {
            return;
        }
        rows.sort_by(|one, other| one[0].cmp(&other[0]));
        document.paragraph(format!("**Counters** in polls of `{}`:", self.function));
        let head = "counter | variant | per poll | per slow poll | whole process, per s";
        document.table(head, rows);
    }

    pub(super) fn system_calls(&self, document: &mut Document) {
        let (evidence, site) = (self.evidence, self.site);
        let by_variant = self.by_variant(|variant| events::system_calls(evidence, variant, site));
        let Some(baseline) = by_variant.first().filter(|it| !it.is_empty()) else {
            return;
        };
        document.paragraph(format!(
            "**System calls** per poll of `{}`, and per request (in polls and outside them), with their µs in \
             parentheses:",
            self.function
        ));
        let row = |(name, _): &(String, EventRates)| {
            let mut row = vec![quoted(name)];
            for of in &by_variant {
                let of = of.iter().find(|(other, _)| other == name);
                row.extend(pairs(of.map(|(_, rates)| rates)));
            }
            row
        };
        let head = self.head("call", &["per poll", "per request"]);
        document.table(&head, baseline.iter().take(MOST_ROWS).map(row));
        if let Some(ns) = evidence.seen.system_call_overhead_ns {
            document.paragraph(format!(
                "Observing a call costs the poll around it {} µs. The kernel's shares in this report do not include \
                 this cost.",
                number(ns as f64 / 1000.0)
            ));
        }
    }

    pub(super) fn worst(&self, document: &mut Document) {
        let worst = worst::polls(self.evidence);
        let mut of_baseline = worst.iter().filter(|it| it.variant == 0).peekable();
        if of_baseline.peek().is_none() {
            return;
        }
        document.paragraph(format!(
            "**The slowest polls** without a budget. For each iteration, the table names the parts that took at least 3 % \
             of the poll. There is [a table of all of them]({}), and [a trace]({}) for the Perfetto UI and the Firefox \
             Profiler.",
            self.link("worst.csv"),
            self.link("trace.json")
        ));
        document.table(
            "rank | µs | iterations | iteration by iteration",
            of_baseline.take(MOST_POLLS).map(|it| {
                vec![
                    it.poll.rank.to_string(),
                    number(it.us()),
                    or_dash(it.poll.iterations.map(|it| it.to_string())),
                    it.words(),
                ]
            }),
        );
    }
}

/// "20.0 (2000)", per poll and per request.
fn pairs(of: Option<&EventRates>) -> [String; 2] {
    let of = of.copied().unwrap_or_default();
    [of.per_poll, of.per_request].map(|rate| {
        or_dash(rate.map(|(one, other)| format!("{} ({})", number(one), number(other))))
    })
}
