//! The main results about a cell, and the frames with most of the time of its slow polls.

use run_format::config::ENOUGH_SLOW_SAMPLES;
use run_format::evidence::ChosenBecause;

use super::{MOST_ROWS, Section};
use crate::explain::flamegraph::flamegraphs;
use crate::explain::thresholds::AGREEMENT_PP;
use crate::explain::{stacks, warm_core};
use crate::report::markdown::{Document, Row, joined, quoted};
use crate::stats::quotient;
use crate::summary::CONFIDENCE;
use crate::text::{self, capitalised, count, number};

impl Section<'_> {
    pub(super) fn sentences(&self) -> Vec<String> {
        let chosen = &self.cell.chosen;
        let mut sentences = vec![
            match (chosen.why, chosen.slow_ms_per_s, chosen.slow_percent) {
                (ChosenBecause::SlowTime, Some(ms), _) => format!(
                    "was chosen because of its time in slow polls: {} ms per second in the sweep.",
                    number(ms)
                ),
                (ChosenBecause::SlowRatio, _, Some(percent)) => format!(
                    "was chosen because of its share of slow polls: {} % in the sweep.",
                    number(percent)
                ),
                _ => "was requested.".to_owned(),
            },
        ];
        let Some(from_ns) = self.explanation.slow_from_ns else {
            sentences.push(String::from(
                "No recorded band of poll length lies above the threshold, so nothing is known about slow polls.",
            ));
            return sentences;
        };
        let (evidence, site) = (self.evidence, self.site);
        let of_launches = self.cell.launches.iter().filter_map(|(subject, evidence)| {
            let percent = format!("{} %", number(evidence.slow_percent(site, from_ns)?));
            Some(match self.explanation.has_subjects() {
                true => format!("{percent} ({})", quoted(self.explanation.label(*subject))),
                false => percent,
            })
        });
        let percent = joined(of_launches, ", ");
        if !percent.is_empty() {
            let (function, us) = (self.function, from_ns / 1000);
            sentences.push(format!(
                "In the second launch, {percent} of the polls of `{function}` are slow (over {us} µs)."
            ));
        }
        let in_kernel = stacks::in_kernel_percent(evidence, site, from_ns).map(number);
        sentences.extend(in_kernel.map(|percent| {
            format!("Of the stacks sampled in slow polls, {percent} % are in the kernel.")
        }));
        sentences.extend(self.warm(from_ns));
        let links = flamegraphs(self.explanation, self.cell).into_iter();
        let links = links.map(|it| format!("[{}]({})", it.link, self.link(&it.name)));
        sentences.push(match &joined(links, ", ")[..] {
            "" => "No stack was sampled, so there are no flamegraphs.".to_owned(),
            links => format!("Flamegraphs: {links}."),
        });
        sentences
    }

    fn warm(&self, from_ns: u64) -> Option<String> {
        let warm = warm_core(self.evidence, self.site, from_ns)?;
        let normal = number(100.0 * warm.normal.value);
        let Some(change) = warm.change.filter(|_| warm.blocks > 1) else {
            return Some(format!(
                "With the core kept warm (not allowed to sleep), the share of slow polls is {} % instead of {normal} %, \
                 from too few blocks to test the difference.",
                number(100.0 * warm.warm.value)
            ));
        };
        let pp = 100.0 * change.difference.value;
        let interval = change.difference.interval(CONFIDENCE).times(100.0);
        let signed = text::change(pp, "pp", interval);
        let is_resolved = change.p_value() < 1.0 - CONFIDENCE;
        Some(if !is_resolved {
            format!(
                "It is not resolved whether a cold core (one that has slept) contributes: keeping the core warm changes \
                 the share of slow polls by {signed}, from {normal} %."
            )
        } else if pp < 0.0 {
            let prevented = text::change(-pp, "pp", interval.times(-1.0)).replace('+', "");
            let (normal_share, warm_share) = (warm.normal.value, warm.warm.value);
            let share = quotient(normal_share - warm_share, normal_share);
            let share = share.map_or_else(String::new, |it| {
                format!(", which is {:.0} % of them", 100.0 * it.min(1.0))
            });
            format!(
                "**Keeping the core warm (not allowed to sleep) prevents {prevented} of {normal} % slow polls{share}. No \
                 budget can prevent these.**"
            )
        } else {
            format!(
                "A cold core (one that has slept) is not the cause: keeping the core warm changes the share of slow polls \
                 by {signed}, from {normal} %."
            )
        })
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
        const BOTH: &str = "the flamegraph and the table of children";
        let agree = match worst.agree() {
            Some(true) => format!("{} agree", capitalised(BOTH)),
            Some(false) => format!("{} **do not agree**", capitalised(BOTH)),
            None => format!("It is not resolved whether {BOTH} agree"),
        };
        let difference = match worst.interval_pp {
            Some(interval) => text::change(worst.pp(), "pp", interval),
            None => format!("{} pp", text::with_plus(worst.pp(), number(worst.pp()))),
        };
        let (child, slices) = (&worst.child, count(worst.slices, "slice"));
        format!(
            "{agree} on where the time goes: the largest difference is {difference}, for `{child}` (limit: \
             {AGREEMENT_PP} pp; from {slices})."
        )
    }
}
