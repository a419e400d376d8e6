//! What the verdict leaves out: more about each variant, and where the time goes.

use run_format::Site;

use super::markdown::{Document, joined, quoted};
use crate::{
    measure::{breakdown::OWN, metric::Metric},
    stats::MeanChange,
    summary::{CONFIDENCE, Summary},
    text::{self, number},
    verdict::{
        Candidate, SiteYields, Verdict,
        holders::{self, Holder},
        unit,
        words::apart,
    },
};

pub(crate) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    for candidate in &verdict.candidates {
        document.paragraph(format!("**`{}`**", candidate.label));
        document.list(details(candidate, summary, verdict));
    }
    let time = time(summary, verdict.site);
    document.paragraph(format!("**Where does the time go?** {time}"));
}

fn details(candidate: &Candidate, summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let detail = |(metric, change): (&Metric, &MeanChange)| {
        let spoilt = verdict.spoilt.get(metric);
        format!(
            "{} {}{}",
            metric.info().words,
            text::change(change.value(), unit(*metric), change.interval(CONFIDENCE)),
            spoilt.map_or_else(String::new, |reason| format!(" (spoilt: {reason})"))
        )
    };
    let details = candidate.details.iter();
    let details = details.filter(|(metric, _)| !metric.is_of_quic());
    let mut lines = verdict.details(candidate);
    if !candidate.differs {
        lines.extend(candidate.in_regimes());
    }
    if let Some((by, judged)) = verdict.beating_variant(candidate) {
        lines.push(format!(
            "Compared with it, {} has {}.",
            quoted(by),
            apart(judged)
        ));
    }
    lines.push(format!(
        "Changes that decide nothing, each interval 95 % by itself: {}.",
        joined(details.map(detail), "; ")
    ));
    let yields = candidate.yields.iter();
    lines.extend(yields.filter_map(|it| unfixable(it, summary.function(it.site))));
    lines
}

fn unfixable(yields: &SiteYields, function: &str) -> Option<String> {
    let percent = number(yields.single_iteration_percent?);
    Some(format!(
        "Without a budget, {percent} % of the slow polls of `{function}` have a single slow iteration, which no limit on \
         iterations prevents."
    ))
}

fn time(summary: &Summary, site: Site) -> String {
    let holders = holders::of(summary, site);
    if !holders.iter().any(|it| it.slow) {
        return "The time of children was not recorded.".to_owned();
    }
    let part = |it: &Holder| {
        let name = match &it.child[..] {
            OWN => OWN.to_owned(),
            child => quoted(child),
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
