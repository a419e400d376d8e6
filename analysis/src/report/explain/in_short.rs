//! What is said of a cell in short, and the frames that hold most of its slow polls.

use super::{MOST_ROWS, Section, table};
use crate::{
    explain::{stacks, system_calls, thresholds::AGREEMENT_PP, warm},
    report::markdown::Document,
    summary::CONFIDENCE,
    text::{self, number},
};

impl Section<'_> {
    pub(super) fn sentences(&self) -> Vec<String> {
        let chosen = &self.cell.chosen;
        let mut sentences = Vec::new();
        sentences.push(
            match (
                chosen.why.as_str(),
                chosen.slow_ms_per_s,
                chosen.slow_percent,
            ) {
                ("slow-time", Some(ms), _) => {
                    format!(
                        "was chosen for its time in slow polls, {} ms a second in the sweep.",
                        number(ms)
                    )
                }
                ("slow-ratio", _, Some(percent)) => {
                    format!(
                        "was chosen for its share of slow polls, {} % in the sweep.",
                        number(percent)
                    )
                }
                _ => "was asked for.".to_owned(),
            },
        );
        let Some(from_ns) = self.explanation.slow_from_ns else {
            sentences.push(
                "No band is above the threshold, so nothing is known of slow polls.".to_owned(),
            );
            return sentences;
        };
        let (evidence, site) = (&self.cell.evidence, self.explanation.site);
        if let Some(percent) = self.cell.slow_percent(site, from_ns) {
            sentences.push(format!(
                "Launched again, {} % of the polls of `{}` are slow (over {} µs).",
                number(percent),
                site.function(),
                from_ns / 1000
            ));
        }
        if let Some(share) = system_calls::kernel_share(evidence, 0, site, from_ns) {
            let beside = share.by_stacks.map_or_else(String::new, |it| {
                format!(
                    "; of the stacks sampled in them {} % are in the kernel",
                    number(it)
                )
            });
            sentences.push(format!(
                "Of their time {} % is spent in system calls, as these were timed{beside}.",
                number(share.by_calls)
            ));
        }
        sentences.extend(self.warm(from_ns));
        sentences.push(self.pictures());
        sentences
    }

    /// How much of it a warm core would fix.
    fn warm(&self, from_ns: u64) -> Option<String> {
        let warm = warm::of(&self.cell.evidence, self.explanation.site, from_ns)?;
        let percent = number(100.0 * warm.normal.value());
        let kept_warm = "when the core is kept warm";
        let Some(change) = warm.change.filter(|_| warm.blocks > 1) else {
            return Some(format!(
                "Of {percent} % slow polls {} % are left {kept_warm}, in too few blocks to say more.",
                number(100.0 * warm.warm.value())
            ));
        };
        let interval = change.difference.interval(CONFIDENCE);
        let pp = |value: f64| 100.0 * value;
        let is_resolved = change.p_value() < 1.0 - CONFIDENCE;
        let told = text::change(
            pp(change.difference.value),
            "pp",
            (pp(interval.low), pp(interval.high)),
        );
        Some(if !is_resolved {
            format!(
                "Whether a cold core has a part in it is not resolved: {told} of {percent} % slow polls {kept_warm}."
            )
        } else if change.difference.value < 0.0 {
            // What goes away is told as what it is: a part, without a sign.
            let gone = text::part(
                pp(-change.difference.value),
                (pp(-interval.high), pp(-interval.low)),
            );
            let share = warm.gone().map_or_else(String::new, |it| {
                format!(", {:.0} % of them", 100.0 * it.min(1.0))
            });
            format!(
                "**Of {percent} % slow polls, {gone} go away {kept_warm}{share}: no budget fixes those.**"
            )
        } else {
            format!(
                "A cold core is not the reason: there are more slow polls {kept_warm}, {told} of {percent} %."
            )
        })
    }

    fn pictures(&self) -> String {
        let (evidence, site) = (&self.cell.evidence, self.explanation.site);
        let mut links = Vec::new();
        let has = |variant, from_ns| {
            stacks::folded(evidence, variant, site, from_ns)
                .values()
                .sum::<u64>()
                > 0
        };
        let slow = self.explanation.slow_from_ns;
        for (at, (variant, label)) in self.explanation.variants.iter().enumerate() {
            let of = if at == 0 { "" } else { "budget-" };
            let with = if at == 0 {
                String::new()
            } else {
                format!(" with `{label}`")
            };
            if slow.is_some() && has(*variant, slow) {
                let link = self.link(&format!("{of}slow.svg"));
                links.push(format!("[of slow polls{with}]({link})"));
            }
            if has(*variant, None) {
                let link = self.link(&format!("{of}all.svg"));
                links.push(format!("[of all polls{with}]({link})"));
            }
        }
        if let Some((variant, _)) = self.explanation.other()
            && has(0, None)
            && has(variant, None)
        {
            links.push(format!("[the difference]({})", self.link("difference.svg")));
        }
        if links.is_empty() {
            return "There are no flamegraphs, since no stack was sampled.".to_owned();
        }
        format!("Flamegraphs: {}.", links.join(", "))
    }

    /// The innermost frames of slow polls.
    pub(super) fn frames(&self, document: &mut Document) {
        let Some(from_ns) = self.explanation.slow_from_ns else {
            return;
        };
        let (evidence, site) = (&self.cell.evidence, self.explanation.site);
        let found: Vec<(Vec<stacks::Frame>, u64)> = self
            .explanation
            .variants
            .iter()
            .map(|(variant, _)| stacks::frames(evidence, *variant, site, from_ns))
            .collect();
        let Some((baseline, samples)) = found.first().filter(|(_, samples)| *samples > 0) else {
            return;
        };
        let mut head = vec!["innermost frame in slow polls".to_owned()];
        head.extend(self.labels().iter().map(|label| format!("{label}, %")));
        let row = |frame: &stacks::Frame| {
            let of = |(frames, samples): &(Vec<stacks::Frame>, u64)| {
                let here = frames.iter().find(|it| it.name == frame.name);
                match here {
                    Some(here) => number(here.percent),
                    None if *samples > 0 => "0".to_owned(),
                    None => "–".to_owned(),
                }
            };
            let mut row = vec![format!("`{}`", frame.name)];
            row.extend(found.iter().map(of));
            row
        };
        let rows: Vec<Vec<String>> = baseline.iter().take(MOST_ROWS).map(row).collect();
        table(document, &head, &rows);
        document.paragraph(&format!(
            "Self share of {samples} samples of slow polls of `{}`. {}",
            site.function(),
            self.agrees(from_ns)
        ));
    }

    /// Whether samples and the probe's clock say the same.
    fn agrees(&self, from_ns: u64) -> String {
        let (evidence, site) = (&self.cell.evidence, self.explanation.site);
        let agreement = stacks::agreement(evidence, 0, site, from_ns);
        let Some(worst) = agreement.first() else {
            return "There is no table of children to hold the flamegraph against.".to_owned();
        };
        let verdict = if worst.holds() {
            "agree"
        } else {
            "**do not agree**"
        };
        format!(
            "Flamegraph and table of children {verdict} on where the time goes: the largest difference is {} pp, of \
             `{}` (allowed: {AGREEMENT_PP} pp).",
            text::signed(worst.pp()),
            worst.child
        )
    }
}
