//! The questions that a reader of a budget's pull request asks, answered one by one.

use super::markdown::Document;
use crate::{
    measure::{
        breakdown::OWN,
        metric::{Metric, Site},
    },
    summary::Summary,
    text::number,
    verdict::{
        Class, Judged, Verdict,
        holders::{self, Holder},
        words,
    },
};

pub(crate) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    for judged in &verdict.candidates {
        document.paragraph(&format!("**`{}`**", judged.label));
        document.list([
            format!("Does it fire? {}", fires(judged)),
            format!("Does it lower the slow ratio? {}", lowers(judged)),
            format!(
                "Does it help a co-tenant, or only the ratio? {}",
                helps(judged)
            ),
            format!("What does it cost? {}", costs(judged)),
            format!("What can no count of iterations fix? {}", unfixable(judged)),
        ]);
    }
    document.paragraph(&format!(
        "**The smallest intervention.** {}",
        smallest(verdict)
    ));
    document.paragraph(&format!(
        "**Where the time goes.** {}",
        time(summary, verdict.site)
    ));
}

fn fires(judged: &Judged) -> String {
    match judged.yields_per_1000 {
        None => "Not known: its site was not measured.".to_owned(),
        Some((_, 0.0)) => "No: not one poll of any cell spent it.".to_owned(),
        Some((mean, most)) => format!(
            "{} yields per 1,000 polls, mean over cells; {} in the cell with the most.",
            number(mean),
            number(most)
        ),
    }
}

fn lowers(judged: &Judged) -> String {
    judged
        .effect(Metric::SlowPercent)
        .map_or_else(words::absent, |it| {
            format!(
                "Mean change {}; cells: {}.",
                words::points(it.mean),
                it.tally()
            )
        })
}

fn helps(judged: &Judged) -> String {
    let word = match judged.class {
        Class::Helps => "It helps",
        Class::RatioOnly => "No help is resolved",
        Class::NeverFires => "It cannot",
        Class::Harms | Class::Unresolved => "Nothing is resolved",
    };
    format!(
        "{word}: {}, {}, {}.",
        effect(judged, Metric::CotenantLatePercent),
        effect(judged, Metric::CotenantP90Us),
        effect(judged, Metric::CotenantP99Us)
    )
}

fn costs(judged: &Judged) -> String {
    let parts = [
        Metric::RequestsPerS,
        Metric::LatencyP50Ms,
        Metric::LatencyP99Ms,
    ];
    let parts = parts.map(|metric| effect(judged, metric));
    let polls = judged
        .extra_polls_percent
        .map_or_else(words::absent, |percent| {
            format!("{} %", crate::text::signed(percent))
        });
    format!("{}; polls per request {polls}.", parts.join(", "))
}

fn effect(judged: &Judged, metric: Metric) -> String {
    let tally = judged
        .effect(metric)
        .map_or_else(words::absent, |it| it.tally());
    format!(
        "{} {} (cells: {tally})",
        metric.words(),
        words::effect(judged, metric)
    )
}

fn unfixable(judged: &Judged) -> String {
    match (judged.single_iteration_percent, judged.budgets.first()) {
        (Some(percent), Some(budget)) => format!(
            "In {} % of the baseline's slow polls at `{}` one iteration alone is over the threshold.",
            number(percent),
            budget.site.function()
        ),
        _ => words::absent(),
    }
}

fn smallest(verdict: &Verdict) -> String {
    verdict.best.map_or_else(
        || "No budget has a resolved gain and no resolved loss.".to_owned(),
        |best| {
            let best = &verdict.candidates[best];
            let gains: Vec<&str> = best.gains().iter().map(|metric| metric.words()).collect();
            format!(
                "Of the budgets compared, `{}` leaves the most room among those with a resolved gain ({}) and \
                 no resolved loss.",
                best.label,
                gains.join(", ")
            )
        },
    )
}

fn time(summary: &Summary, site: Site) -> String {
    let holders = holders::of(summary, site);
    let slow: Vec<&Holder> = holders.iter().filter(|it| it.slow).collect();
    if slow.is_empty() {
        return "The time of children was not recorded.".to_owned();
    }
    let parts: Vec<String> = slow
        .iter()
        .filter(|it| it.percent >= 1.0)
        .map(|it| {
            let name = if it.child == OWN {
                OWN.to_owned()
            } else {
                format!("`{}`", it.child)
            };
            format!("{name} {} %", number(it.percent))
        })
        .collect();
    format!(
        "Of the time in slow polls of `{}`, over all cells of the baseline: {}.",
        site.function(),
        parts.join(", ")
    )
}
