//! The questions that a reader of a budget's pull request asks, answered one by one.

use super::markdown::Document;
use crate::{
    measure::{breakdown::OWN, metric::Metric},
    site::Site,
    stats::Uncertain,
    summary::{CONFIDENCE, Summary},
    text::{self, number},
    verdict::{
        Class, Fired, Judged, Verdict,
        holders::{self, Holder},
        words,
    },
};

pub(crate) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    for judged in &verdict.candidates {
        document.paragraph(&format!("**`{}`**", judged.label));
        let mut answers = Vec::new();
        if !judged.fired.is_empty() {
            answers.push(format!("Does it fire? {}", fires(judged)));
        }
        if matches!(judged.class, Class::NeverFires | Class::NoSite) {
            answers.push(
                "So it can have changed nothing: what follows is chance, and shows how much chance does.".to_owned(),
            );
        }
        answers.extend([
            format!("Does it lower the slow ratio? {}", lowers(judged)),
            format!(
                "Does it help a co-tenant, or only the ratio? {}",
                helps(judged)
            ),
            format!("What does it cost? {}", costs(judged)),
        ]);
        if !judged.fired.is_empty() {
            answers.push(format!(
                "What can no count of iterations fix? {}",
                unfixable(judged)
            ));
        }
        document.list(answers);
    }
    if verdict
        .candidates
        .iter()
        .any(|judged| !judged.fired.is_empty())
    {
        document.paragraph(&format!(
            "**The smallest budget with a resolved gain and no resolved loss.** {}",
            smallest(verdict)
        ));
    }
    document.paragraph(&format!(
        "**Where the time goes.** {}",
        time(summary, verdict.site)
    ));
}

fn fires(judged: &Judged) -> String {
    let answer = |fired: &Fired| match fired.yields_per_1000 {
        None => format!(
            "No: there was no poll of {} to bound.",
            fired.site.function()
        ),
        Some((_, 0.0)) => "No: not one poll of any cell spent it.".to_owned(),
        Some((mean, most)) => format!(
            "`{}` yields {} of 1,000 times, mean over cells; {} in the cell with the most.",
            fired.site.function(),
            number(mean),
            number(most)
        ),
    };
    let answers: Vec<String> = judged.fired.iter().map(answer).collect();
    answers.join(" ")
}

fn lowers(judged: &Judged) -> String {
    format!(
        "{}; {}. By round trip: {}.",
        effect(judged, Metric::SlowPercent),
        effect(judged, Metric::SlowPerRequest),
        by_rtt(judged, |at| at.slow)
    )
}

fn helps(judged: &Judged) -> String {
    let word = match judged.class {
        Class::Helps | Class::CotenantOnly => "It helps",
        Class::RatioOnly => "No help is resolved",
        Class::NeverFires | Class::NoSite => "It cannot",
        Class::Mixed => "Better in one way and worse in another, or for some cells only",
        Class::Harms | Class::Unresolved => "Nothing is resolved",
    };
    format!(
        "{word}: {}; {}; {}. Late wakes by round trip: {}.",
        effect(judged, Metric::CotenantLatePercent),
        effect(judged, Metric::CotenantP90Us),
        effect(judged, Metric::CotenantP99Us),
        by_rtt(judged, |at| at.late)
    )
}

/// "0 ms −9.8 pp, 5 ms −4.5 pp"; without intervals, which are in the pictures.
fn by_rtt(judged: &Judged, mean: impl Fn(&crate::verdict::AtRtt) -> Option<Uncertain>) -> String {
    let at = judged.by_rtt.iter().filter_map(|at| {
        let mean = mean(at)?;
        let interval = mean.interval(CONFIDENCE);
        let change = text::change(mean.value, "pp", (interval.low, interval.high));
        Some(format!("{} ms {change}", at.rtt_ms))
    });
    at.collect::<Vec<_>>().join(", ")
}

fn costs(judged: &Judged) -> String {
    const COSTS: [Metric; 5] = [
        Metric::RequestsPerS,
        Metric::CpuUsPerRequest,
        Metric::LatencyP50Ms,
        Metric::LatencyP99Ms,
        Metric::PollsPerRequest,
    ];
    format!("{}.", COSTS.map(|metric| effect(judged, metric)).join("; "))
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
    let answer = |fired: &Fired| {
        let percent = fired.single_iteration_percent?;
        Some(format!(
            "Of all slow polls of `{}` without a budget, {} % have one iteration that is over the threshold alone.",
            fired.site.function(),
            number(percent),
        ))
    };
    let answers: Vec<String> = judged.fired.iter().filter_map(answer).collect();
    if answers.is_empty() {
        words::absent()
    } else {
        answers.join(" ")
    }
}

fn smallest(verdict: &Verdict) -> String {
    let Some(smallest) = verdict.smallest else {
        return "None of those compared: what helps has a price, which is above.".to_owned();
    };
    let smallest = &verdict.candidates[smallest];
    let gains: Vec<&str> = smallest
        .gains()
        .iter()
        .map(|metric| metric.words())
        .collect();
    let worse: Vec<String> = smallest
        .effects
        .iter()
        .filter(|(_, effect)| effect.lower + effect.higher > 0)
        .filter_map(|(metric, effect)| {
            let worse = effect.worse(*metric);
            (worse > 0 && *metric != Metric::PollsPerRequest)
                .then(|| format!("{} in {}", metric.words(), text::count(worse, "cell")))
        })
        .collect();
    let worse = if worse.is_empty() {
        String::new()
    } else {
        format!(
            " In single cells it is resolved to be worse: {}.",
            worse.join(", ")
        )
    };
    format!(
        "Of the budgets compared, `{}` intervenes least (fewest yields) among those with a resolved gain ({}) and no \
         resolved loss over all cells.{worse}",
        smallest.label,
        gains.join("; ")
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
