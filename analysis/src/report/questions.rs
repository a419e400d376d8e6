//! What the verdict leaves out: more about each variant, and where the time goes.

use run_format::Site;

use super::markdown::{Document, joined, quoted};
use crate::{
    measure::{breakdown::OWN, metric::Metric},
    stats::{MeanChange, Uncertain},
    summary::{CONFIDENCE, Summary},
    text::{self, number},
    verdict::{
        AtRtt, Candidate, SiteYields, Verdict,
        holders::{self, Holder},
        unit,
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
    let mut lines = vec![
        format!(
            "By round trip, each interval 95 % by itself: slow polls {}; late wake-ups {}.",
            by_rtt(candidate, |at| at.slow),
            by_rtt(candidate, |at| at.late)
        ),
        format!(
            "Changes that decide nothing, each interval 95 % by itself: {}.",
            joined(details.map(detail), "; ")
        ),
    ];
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

/// "0 ms −9.8 pp [−9.9, −9.7], 5 ms −4.5 pp [−4.6, −4.4]".
fn by_rtt(candidate: &Candidate, mean: impl Fn(&AtRtt) -> Option<Uncertain>) -> String {
    let at = candidate.by_rtt.iter().map(|at| {
        let Some(mean) = mean(at) else {
            return format!("{} ms not compared", at.rtt_ms);
        };
        let change = text::change(mean.value, "pp", mean.interval(CONFIDENCE));
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
