//! Answers to the questions of a reader who reviews a budget, one by one.

use run_format::Site;

use super::markdown::{Document, joined, quoted};
use crate::{
    measure::{breakdown::OWN, metric::Metric},
    stats::{Interval, MeanChange, Uncertain},
    summary::{CONFIDENCE, Summary},
    text::{self, number},
    verdict::{
        AtRtt, Candidate, SiteYields, Verdict,
        holders::{self, Holder},
        unit, words,
    },
};

pub(crate) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    for candidate in &verdict.candidates {
        document.paragraph(format!("**`{}`**", candidate.label));
        document.list(answers(candidate, summary, verdict));
    }
    if !verdict.pairs.is_empty() {
        document.paragraph("**How do those that gain something compare with each other?**");
        let label = |at: usize| quoted(&verdict.candidates[at].label);
        let pairs = verdict.pairs.iter();
        document.list(pairs.map(|it| {
            let apart = words::apart(&it.judged);
            format!(
                "{} compared with {}: {apart}.",
                label(it.to),
                label(it.from)
            )
        }));
    }
    let time = time(summary, verdict.site);
    document.paragraph(format!("**Where does the time go?** {time}"));
}

fn answers(candidate: &Candidate, summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let of_sites = |answer: fn(&SiteYields, &str) -> Option<String>| {
        let answer = |it: &SiteYields| answer(it, summary.function(it.site));
        joined(candidate.yields.iter().filter_map(answer), " ")
    };
    let mut answers = Vec::new();
    if !candidate.yields.is_empty() {
        answers.push(format!("Does it fire? {}", of_sites(fires)));
    }
    if candidate.is_idle {
        answers.push(
            "It cannot have changed anything. The differences below are noise, and show how large noise is.".to_owned(),
        );
    }
    let known = |is_benefit| {
        let judged = candidate.judged.iter();
        let judged = judged.filter(|it| it.quantity.is_benefit == is_benefit);
        let known = judged.map(|it| {
            if candidate.is_idle {
                format!("{} {}", it.quantity.words, it.change())
            } else {
                it.phrase()
            }
        });
        joined(known, "; ")
    };
    answers.push(format!("What does it improve? {}.", known(true)));
    answers.push(format!(
        "By round trip, each interval 95 % by itself: slow polls {}; late wake-ups {}.",
        by_rtt(candidate, |at| at.slow),
        by_rtt(candidate, |at| at.late)
    ));
    answers.push(format!("What does it cost? {}.", known(false)));
    let details = candidate.details.iter().map(|it| detail(it, verdict));
    answers.push(format!(
        "Details that decide nothing, each interval 95 % by itself: {}.",
        joined(details, "; ")
    ));
    let unfixable = of_sites(unfixable);
    if !unfixable.is_empty() {
        answers.push(format!(
            "Which slow polls can no limit on iterations prevent? {unfixable}"
        ));
    }
    answers
}

fn detail((metric, change): (&Metric, &MeanChange), verdict: &Verdict) -> String {
    let Interval { low, high } = change.interval(CONFIDENCE);
    let spoilt = verdict.spoilt.get(metric);
    format!(
        "{} {}{}",
        metric.words(),
        text::change(change.value(), unit(*metric), (low, high)),
        spoilt.map_or_else(String::new, |reason| format!(" (spoilt: {reason})"))
    )
}

fn fires(yields: &SiteYields, function: &str) -> Option<String> {
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

fn unfixable(yields: &SiteYields, function: &str) -> Option<String> {
    Some(format!(
        "Without a budget, {} % of the slow polls of `{function}` have a single slow iteration.",
        number(yields.single_iteration_percent?),
    ))
}

/// "0 ms −9.8 pp [−9.9, −9.7], 5 ms −4.5 pp [−4.6, −4.4]".
fn by_rtt(candidate: &Candidate, mean: impl Fn(&AtRtt) -> Option<Uncertain>) -> String {
    let at = candidate.by_rtt.iter().map(|at| {
        let Some(mean) = mean(at) else {
            return format!("{} ms not compared", at.rtt_ms);
        };
        let interval = mean.interval(CONFIDENCE);
        let change = text::change(mean.value, "pp", (interval.low, interval.high));
        format!("{} ms {change}", at.rtt_ms)
    });
    joined(at, ", ")
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
        summary.function(site),
        joined(large.map(part), ", ")
    )
}
