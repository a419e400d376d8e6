//! The evidence of a cell, table by table.

use super::{MOST_ROWS, Section, table};
use crate::{
    explain::{allocations, counters, stacks, system_calls, worst},
    report::markdown::Document,
    site::Site,
    text::{self, number},
};

/// Worst polls that are told in words; `worst.csv` has all of them.
const MOST_POLLS: usize = 10;

impl Section<'_> {
    pub(super) fn agreement(&self, document: &mut Document) {
        let Some(from_ns) = self.explanation.slow_from_ns else {
            return;
        };
        let (evidence, site) = (&self.cell.evidence, self.explanation.site);
        let mut agreement = stacks::agreement(evidence, 0, site, from_ns);
        if agreement.is_empty() {
            return;
        }
        agreement.sort_by(|one, other| other.table_percent.total_cmp(&one.table_percent));
        document.paragraph("**Children in slow polls, sampled and timed**, without a budget:");
        let row = |it: &stacks::Agreement| {
            vec![
                format!("`{}`", it.child),
                number(it.stacks_percent),
                number(it.table_percent),
                text::signed(it.pp()),
            ]
        };
        let rows: Vec<Vec<String>> = agreement.iter().map(row).collect();
        document.table(
            &[
                "child",
                "of samples, %",
                "of the time in `children.csv`, %",
                "difference, pp",
            ],
            &rows,
        );
    }

    pub(super) fn allocations(&self, document: &mut Document) {
        let evidence = &self.cell.evidence;
        let by_variant: Vec<_> = self
            .explanation
            .variants
            .iter()
            .map(|(variant, _)| allocations::by_child(evidence, *variant))
            .collect();
        let Some(baseline) = by_variant.first().filter(|it| !it.is_empty()) else {
            return;
        };
        document.paragraph(
            "**Allocations** by poll of the child (own code: of the site), and by request; sites nest, so their rows \
             are not to be added:",
        );
        let mut keys: Vec<_> = baseline.keys().collect();
        let most = |key| {
            let of: &allocations::Allocated = &baseline[key];
            of.objects_per_request.unwrap_or(of.objects_per_poll)
        };
        keys.sort_by(|one, other| most(other).total_cmp(&most(one)));
        let mut head = vec!["site".to_owned(), "child".to_owned()];
        for label in self.labels() {
            head.push(format!("objects (bytes) per poll, {label}"));
            head.push(format!("per request, {label}"));
        }
        let row = |key: &&(Site, String)| {
            let mut row = vec![key.0.name().to_owned(), format!("`{}`", key.1)];
            for of in &by_variant {
                let of = of.get(*key);
                let pair = |objects: Option<f64>, bytes: Option<f64>| match (objects, bytes) {
                    (Some(objects), Some(bytes)) => {
                        format!("{} ({})", number(objects), number(bytes))
                    }
                    _ => "–".to_owned(),
                };
                row.push(pair(
                    of.map(|it| it.objects_per_poll),
                    of.map(|it| it.bytes_per_poll),
                ));
                row.push(pair(
                    of.and_then(|it| it.objects_per_request),
                    of.and_then(|it| it.bytes_per_request),
                ));
            }
            row
        };
        let rows: Vec<Vec<String>> = keys.iter().take(MOST_ROWS + 2).map(row).collect();
        table(document, &head, &rows);
        let functions = allocations::functions(evidence, 0, self.explanation.site);
        if functions.is_empty() {
            return;
        }
        let how_often = evidence
            .seen
            .objects_per_stack
            .map_or_else(String::new, |objects| {
                format!(", one in {} objects", number(objects))
            });
        document.paragraph(&format!(
            "**Functions that allocate most**, by sampled stacks{how_often}, without a budget:"
        ));
        let row = |it: &allocations::Allocator| {
            vec![
                format!("`{}`", it.function),
                number(it.percent),
                it.objects.to_string(),
                it.bytes.to_string(),
            ]
        };
        let rows: Vec<Vec<String>> = functions.iter().take(MOST_ROWS).map(row).collect();
        document.table(&["function", "of objects, %", "objects", "bytes"], &rows);
    }

    pub(super) fn counters(&self, document: &mut Document) {
        let mut rows = Vec::new();
        for (variant, label) in &self.explanation.variants {
            let counted = counters::of(
                &self.cell.evidence,
                *variant,
                self.explanation.site,
                self.explanation.slow_from_ns,
            );
            rows.extend(counted.into_iter().map(|(name, it)| {
                let figures = [it.per_poll, it.per_slow_poll, it.process_per_s];
                let mut row = vec![format!("`{name}`"), format!("`{label}`")];
                row.extend(figures.map(maybe));
                row
            }));
        }
        if rows.is_empty() {
            return;
        }
        rows.sort_by(|one, other| one[0].cmp(&other[0]));
        document.paragraph(&format!(
            "**Counters**, of polls of `{}`:",
            self.explanation.site.function()
        ));
        document.table(
            &[
                "counter",
                "variant",
                "per poll",
                "per slow poll",
                "process, per s",
            ],
            &rows,
        );
    }

    pub(super) fn system_calls(&self, document: &mut Document) {
        let site = self.explanation.site;
        let by_variant: Vec<Vec<(String, system_calls::Called)>> = self
            .explanation
            .variants
            .iter()
            .map(|(variant, _)| system_calls::by_name(&self.cell.evidence, *variant, site))
            .collect();
        let Some(baseline) = by_variant.first().filter(|it| !it.is_empty()) else {
            return;
        };
        document.paragraph(&format!(
            "**System calls** by poll of `{}`, and by request whether in a poll or not; in parentheses their µs:",
            site.function()
        ));
        let mut head = vec!["call".to_owned()];
        for label in self.labels() {
            head.push(format!("per poll, {label}"));
            head.push(format!("per request, {label}"));
        }
        let pair = |count: Option<f64>, us: Option<f64>| match (count, us) {
            (Some(count), Some(us)) => format!("{} ({})", number(count), number(us)),
            _ => "–".to_owned(),
        };
        let row = |(name, _): &(String, system_calls::Called)| {
            let mut row = vec![format!("`{name}`")];
            for of in &by_variant {
                let of = of.iter().find(|(other, _)| other == name).map(|(_, it)| it);
                row.push(pair(
                    of.and_then(|it| it.per_poll),
                    of.and_then(|it| it.us_per_poll),
                ));
                row.push(pair(
                    of.and_then(|it| it.per_request),
                    of.and_then(|it| it.us_per_request),
                ));
            }
            row
        };
        let rows: Vec<Vec<String>> = baseline.iter().take(MOST_ROWS).map(row).collect();
        table(document, &head, &rows);
        if let Some(ns) = self.cell.evidence.seen.system_call_overhead_ns {
            document.paragraph(&format!(
                "Seeing a call costs the poll around it {} µs, which is taken off where shares of the kernel are told.",
                number(ns / 1000.0)
            ));
        }
    }

    pub(super) fn worst(&self, document: &mut Document) {
        let worst = worst::of(&self.cell.evidence);
        let of_baseline: Vec<&worst::Worst> = worst.iter().filter(|it| it.variant == 0).collect();
        if of_baseline.is_empty() {
            return;
        }
        document.paragraph(&format!(
            "**The slowest polls**, without a budget: in each iteration, what took at least 3 % of the poll. [All of \
             them]({}), and [as a trace]({}) for the Perfetto UI and the Firefox Profiler.",
            self.link("worst.csv"),
            self.link("trace.json")
        ));
        let row = |it: &&worst::Worst| {
            vec![
                it.rank.to_string(),
                number(it.us()),
                it.poll
                    .iterations
                    .map_or_else(|| "–".to_owned(), |it| it.to_string()),
                it.words(),
            ]
        };
        let rows: Vec<Vec<String>> = of_baseline.iter().take(MOST_POLLS).map(row).collect();
        document.table(&["", "µs", "iterations", "iteration by iteration"], &rows);
    }
}

fn maybe(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}
