//! Answers to the questions of a reader who reviews a budget, one by one.

use run_format::Site;

use super::markdown::{Document, joined, quoted};
use crate::{
    measure::{breakdown::OWN, metric::Metric},
    site::UpstreamFunction,
    stats::Uncertain,
    summary::{CONFIDENCE, Summary},
    text::{self, count, number},
    verdict::{
        AtRtt, Class, SiteYields, VariantVerdict, Verdict,
        holders::{self, Holder},
        words,
    },
};

pub(crate) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    for variant in &verdict.candidates {
        document.paragraph(format!("**`{}`**", variant.label));
        document.list(answers(variant));
    }
    if verdict.candidates.iter().any(|it| !it.yields.is_empty()) {
        smallest(document, verdict);
    }
    let time = time(summary, verdict.site);
    document.paragraph(format!("**Where does the time go?** {time}"));
}

fn answers(variant: &VariantVerdict) -> Vec<String> {
    let of_sites = |answer: fn(&SiteYields) -> Option<String>| {
        joined(variant.yields.iter().filter_map(answer), " ")
    };
    let mut answers = Vec::new();
    if !variant.yields.is_empty() {
        answers.push(format!("Does it fire? {}", of_sites(fires)));
    }
    if matches!(variant.class, Class::NeverFires | Class::NoSite) {
        answers.push(
            "It cannot have changed anything. The differences below are noise, and show how large noise is.".to_owned(),
        );
    }
    answers.push(format!(
        "Does it lower the share of slow polls? {}. By round trip: {}.",
        effects(variant, &[Metric::SlowPercent, Metric::SlowPerRequest]),
        by_rtt(variant, |at| at.slow)
    ));
    let does = match variant.class {
        Class::Helps | Class::CotenantOnly => "Yes",
        Class::RatioOnly | Class::Harms | Class::Unresolved => "No improvement is resolved",
        Class::NeverFires | Class::NoSite => "It cannot",
        Class::Mixed => "Some values or some cells improve and others get worse",
    };
    answers.push(format!(
        "Does it help a co-tenant? {does}: {}. Late wake-ups by round trip: {}.",
        effects(
            variant,
            &[
                Metric::CotenantLatePercent,
                Metric::CotenantP90Us,
                Metric::CotenantP99Us
            ]
        ),
        by_rtt(variant, |at| at.late)
    ));
    answers.push(format!(
        "What does it cost? {}.",
        effects(
            variant,
            &[
                Metric::RequestsPerS,
                Metric::CpuUsPerRequest,
                Metric::LatencyP50Ms,
                Metric::LatencyP99Ms,
                Metric::PollsPerRequest,
            ]
        )
    ));
    let unfixable = of_sites(unfixable);
    if !unfixable.is_empty() {
        answers.push(format!(
            "Which slow polls can no limit on iterations prevent? {unfixable}"
        ));
    }
    answers
}

fn fires(yields: &SiteYields) -> Option<String> {
    let function = yields.site.function();
    Some(match yields.per_1000 {
        None => format!("No: no poll of `{function}` was recorded."),
        Some((_, 0.0)) => format!("No: no poll of `{function}` yielded in any cell."),
        Some((mean, most)) => format!(
            "Yes: `{function}` yields in {} of 1,000 polls (mean over cells), and in {} in the cell with the most.",
            number(mean),
            number(most)
        ),
    })
}

fn unfixable(yields: &SiteYields) -> Option<String> {
    Some(format!(
        "Without a budget, {} % of the slow polls of `{}` have a single slow iteration.",
        number(yields.single_iteration_percent?),
        yields.site.function(),
    ))
}

/// "0 ms −9.8 pp [−9.9, −9.7], 5 ms −4.5 pp [−4.6, −4.4]".
fn by_rtt(variant: &VariantVerdict, mean: impl Fn(&AtRtt) -> Option<Uncertain>) -> String {
    let at = variant.by_rtt.iter().map(|at| {
        let Some(mean) = mean(at) else {
            return format!("{} ms not compared", at.rtt_ms);
        };
        let interval = mean.interval(CONFIDENCE);
        let change = text::change(mean.value, "pp", (interval.low, interval.high));
        format!("{} ms {change}", at.rtt_ms)
    });
    joined(at, ", ")
}

fn effects(variant: &VariantVerdict, metrics: &[Metric]) -> String {
    let effect = |metric: &Metric| {
        let tally = variant.effect(*metric).map(|it| it.tally());
        format!(
            "{} {} (cells: {})",
            metric.words(),
            words::effect(variant, *metric),
            tally.unwrap_or_else(words::absent)
        )
    };
    joined(metrics.iter().map(effect), "; ")
}

/// The budget that intervenes least without a resolved cost.
fn smallest(document: &mut Document, verdict: &Verdict) {
    const QUESTION: &str = "**Which budget intervenes least and helps without a resolved cost?**";
    let Some(smallest) = verdict.smallest.map(|at| &verdict.candidates[at]) else {
        document.paragraph(format!(
            "{QUESTION} None of the budgets has a resolved gain without a resolved cost."
        ));
        return;
    };
    document.paragraph(format!(
        "{QUESTION} `{}`. It was selected by these rules, in this order:",
        smallest.label
    ));
    document.list([
        "Keep the budgets for which no cost is resolved over all cells.",
        "Of these, keep those that help most: best is to improve both the share of slow polls and the co-tenant, then \
         the co-tenant only, then the share only.",
        "Of these, take the one that yields least often.",
    ]);
    let gains = joined(smallest.gains().iter().map(|it| it.words()), "; ");
    document.paragraph(format!("Its resolved gains: {gains}."));
    let worse = smallest.effects.iter().filter_map(|(metric, effect)| {
        let worse = effect.worse(*metric);
        (worse > 0 && *metric != Metric::PollsPerRequest)
            .then(|| format!("{} in {}", metric.words(), count(worse, "cell")))
    });
    let worse = joined(worse, ", ");
    if !worse.is_empty() {
        document.paragraph(format!(
            "In single cells it is resolved to be worse: {worse}."
        ));
    }
}

fn time(summary: &Summary, site: Site) -> String {
    let holders = holders::of(summary, site);
    if !holders.iter().any(|it| it.slow) {
        return "The time of children was not recorded.".to_owned();
    }
    let part = |it: &Holder| {
        let name = if it.child == OWN {
            OWN.to_owned()
        } else {
            quoted(&it.child)
        };
        format!("{name} {} %", number(it.percent))
    };
    let large = holders.iter().filter(|it| it.slow && it.percent >= 1.0);
    format!(
        "Of the time in slow polls of `{}`, over all cells of the baseline: {}.",
        site.function(),
        joined(large.map(part), ", ")
    )
}
