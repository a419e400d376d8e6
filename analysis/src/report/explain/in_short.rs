//! The main results about a cell, and the frames with most of the time of its slow polls.

use run_format::config::ENOUGH_SLOW_SAMPLES;
use run_format::evidence::ChosenBecause;

use super::{MOST_ROWS, Section};
use crate::explain::flamegraph::flamegraphs;
use crate::explain::thresholds::AGREEMENT_PP;
use crate::explain::{stacks, warm_core};
use crate::prose::{self, prose};
use crate::report::markdown::{Document, Row, quoted};
use crate::stats::quotient;
use crate::summary::CONFIDENCE;
use crate::text::{self, count, number};

impl Section<'_> {
    pub(super) fn in_short(&self, document: &mut Document) {
        let (evidence, site, from_ns) = (self.evidence, self.site, self.explanation.slow_from_ns);
        let of_launches = self.cell.launches.iter().filter_map(|(subject, evidence)| {
            let percent = format!("{} %", number(evidence.slow_percent(site, from_ns?)?));
            Some(match self.explanation.has_subjects() {
                true => format!("{percent} ({})", quoted(self.explanation.label(*subject))),
                false => percent,
            })
        });
        let links = flamegraphs(self.explanation, self.cell).into_iter();
        let links = links.map(|it| format!("[{}]({})", it.link, self.link(&it.name)));
        document.prose(&prose!('a "explained.txt" {
            section: &'a Section<'a> = self,
            of_launches: Vec<String> = of_launches.collect(),
            in_kernel_percent: Option<f64> = from_ns.and_then(|it| stacks::in_kernel_percent(evidence, site, it)),
            warm: Option<String> = from_ns.and_then(|it| self.warm(it)),
            flamegraphs: Vec<String> = links.collect(),
        }));
    }

    fn warm(&self, from_ns: u64) -> Option<String> {
        let warm = warm_core(self.evidence, self.site, from_ns)?;
        let (normal, with) = (warm.normal.value, warm.warm.value);
        let change = warm.change.filter(|_| warm.blocks > 1);
        let pp = |sign: f64| {
            let (change, percent) = (change?.difference, sign * 100.0);
            let interval = change.interval(CONFIDENCE).times(percent);
            Some(text::change(percent * change.value, "pp", interval))
        };
        let is_resolved = change.is_some_and(|it| it.p_value() < 1.0 - CONFIDENCE);
        Some(prose::text(&prose!("warm.txt" {
            normal_percent: f64 = 100.0 * normal,
            warm_percent: f64 = 100.0 * with,
            change: Option<(String, bool)> = pp(1.0).map(|it| (it, is_resolved)),
            prevented: String = pp(-1.0).unwrap_or_default().replace('+', ""),
            share_percent: Option<f64> = quotient(normal - with, normal).map(|it| 100.0 * it.min(1.0)),
        })))
    }

    pub(super) fn frames(&self, document: &mut Document) {
        let Some(from_ns) = self.explanation.slow_from_ns else {
            return;
        };
        let site = self.site;
        let found =
            self.by_variant(|evidence, variant| stacks::frames(evidence, variant, site, from_ns));
        let Some((_, (baseline, samples))) = found.first().filter(|(_, (_, all))| *all > 0) else {
            return;
        };
        let function = self.function;
        if *samples < ENOUGH_SLOW_SAMPLES {
            document.paragraph(format!(
                "{} in slow polls of `{function}`: too few for a claim. At least {ENOUGH_SLOW_SAMPLES} are needed.",
                count(*samples as usize, "sample")
            ));
            return;
        }
        document.table(baseline.iter().take(MOST_ROWS).map(|(name, _)| {
            let row = Row::of("innermost frame in slow polls", quoted(name));
            found.iter().fold(row, |row, (label, (frames, samples))| {
                let same = frames.iter().find(|(other, _)| other == name);
                let percent = number(same.map_or(0.0, |(_, percent)| *percent));
                let percent = (*samples >= ENOUGH_SLOW_SAMPLES).then_some(percent);
                row.with_any(format!("% of samples, {label}"), percent)
            })
        }));
        document.paragraph(format!(
            "Shares of {samples} samples in slow polls of `{function}`, by the innermost frame. {}",
            self.agreement(from_ns)
        ));
    }

    fn agreement(&self, from_ns: u64) -> String {
        let shares = stacks::shares(self.evidence, self.site, from_ns);
        let Some(worst) = shares.first() else {
            return "There is no table of children to compare the flamegraph with.".to_owned();
        };
        let difference = match worst.interval_pp {
            Some(interval) => text::change(worst.pp(), "pp", interval),
            None => format!("{} pp", text::with_plus(worst.pp(), number(worst.pp()))),
        };
        prose::text(&prose!('a "agreement.txt" {
            agrees: Option<bool> = worst.agree(),
            difference: String = difference,
            child: &'a str = &worst.child,
            slices: usize = worst.slices,
        }))
    }
}
