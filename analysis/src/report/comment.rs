//! `comment.md`: what a maintainer reads in an issue, in at most 200 words. It explains each term that it uses.

use std::collections::BTreeSet;

use poll_probe::{Budget, Limit, Wake};

use super::{ReportLinks, markdown::quoted, method};
use crate::{
    measure::metric::{Metric, MetricKey},
    options::Options,
    summary::Summary,
    text::{count, number},
    verdict::{Candidate, Judged, Outcome, Verdict},
    views::Entry,
};

pub(crate) const COMMENT: &str = "comment.md";

const MOST_WORDS: usize = 200;

/// As many lines as fit, a picture, and how it was measured.
pub(crate) fn text(
    verdict: &Verdict,
    summary: &Summary,
    pictures: &[Entry],
    options: &Options,
) -> String {
    let mut end = pictures
        .first()
        .map_or_else(String::new, |it| picture(it, options));
    if let Some(manifest) = &summary.identity.manifest {
        end += &format!("\n```\n{}\n```\n", method::command(manifest));
    }
    let words = |text: &str| text.split_whitespace().count();
    let mut left = MOST_WORDS.saturating_sub(words(&end));
    let mut text = String::new();
    for line in lines(verdict, summary) {
        let Some(rest) = left.checked_sub(words(&line) + 1) else {
            break;
        };
        left = rest;
        text += &format!("- {line}\n");
    }
    text + &end
}

/// An image's address if there is one, else what a person drags in.
fn picture(entry: &Entry, options: &Options) -> String {
    let Some(file) = entry.files().into_iter().next() else {
        return String::new();
    };
    let link = ReportLinks::new(options).chart(&file);
    match options.pictures.link_base {
        Some(_) => format!("\n![{}]({link})\n", entry.title()),
        None => format!("\n(Drag the picture `{link}` here.)\n"),
    }
}

fn lines(verdict: &Verdict, summary: &Summary) -> Vec<String> {
    let Some(best) = verdict.best() else {
        return verdict.sentences();
    };
    let mut lines = vec![verdict.decision(best)];
    lines.extend(worst_cell(verdict, summary, best));
    lines.extend(meaning(summary, best));
    lines.push(format!("{}.", cost(best)));
    lines.extend(without_gain(best));
    lines.push(format!(
        "Measured over {} with intervals of {} % in brackets{}.",
        count(verdict.cells, "cell"),
        number(100.0 * verdict.confidence),
        match verdict.is_one_visit {
            true => "; each cell was launched once, so this is a first look",
            false => "",
        }
    ));
    lines
}

/// What happens now where it is worst, and with the candidate.
fn worst_cell(verdict: &Verdict, summary: &Summary, best: &Candidate) -> Option<String> {
    let what = MetricKey::new(verdict.site, Metric::BeyondMsPerS);
    let cell = *summary.by_time_beyond(verdict.site).first()?;
    let (before, after) = (cell.value(what, 0)?, cell.value(what, best.variant)?);
    let late = |variant| {
        Some(
            cell.worker_figure(Metric::CotenantP90Us, variant)?
                .estimate
                .value,
        )
    };
    let other = late(0).zip(late(best.variant)).map(|(before, after)| {
        format!(
            " Another task on this thread waits at least {} µs after one of ten wake-ups; with it {} µs.",
            number(before),
            number(after)
        )
    });
    Some(format!(
        "Worst cell ({}): polls of `{}` are longer than {} by {} ms in each second; with {} by {} ms.{}",
        cell.measured.cell,
        summary.function(verdict.site),
        verdict.threshold,
        number(before),
        quoted(&best.label),
        number(after),
        other.unwrap_or_default()
    ))
}

/// What the budgets of a candidate mean. None if it is another program.
fn meaning(summary: &Summary, best: &Candidate) -> Option<String> {
    let bounds = summary.variants[best.variant].bounds();
    let bounds: BTreeSet<String> = bounds.map(|(_, budget)| in_words(budget)).collect();
    let bounds: Vec<String> = bounds.into_iter().collect();
    (!bounds.is_empty()).then(|| format!("{} {}.", quoted(&best.label), bounds.join("; ")))
}

fn in_words(Budget { limit, wake }: Budget) -> String {
    let limit = match limit {
        Limit::Count(most) => format!(
            "ends a poll after {} of its loop",
            count(most.get() as usize, "iteration")
        ),
        Limit::Time(most) => format!("ends a poll at the first iteration after {most:?}"),
        Limit::Coop => "ends a poll when tokio's cooperative budget is used up".to_owned(),
    };
    let wake = match wake {
        Wake::Deferred => "wakes its task after timers and I/O were polled",
        Wake::Immediate => "wakes its task at once",
    };
    format!("{limit} and {wake}")
}

/// "Cost: higher CPU time per request (+6.0 % [3.9, 8.2])"
fn cost(best: &Candidate) -> String {
    let deciding = best.deciding();
    let phrases = |is_one: &dyn Fn(&Judged) -> bool| {
        let costs = deciding
            .iter()
            .filter(|it| !it.quantity.is_benefit && is_one(it));
        let costs: BTreeSet<String> = costs.map(Judged::phrase).collect();
        costs.into_iter().collect::<Vec<_>>().join(", ")
    };
    let shown = phrases(&|it| it.is(Outcome::Worse));
    let limits = phrases(&|it| it.is(Outcome::NotWorse));
    match (shown.is_empty(), limits.is_empty()) {
        (false, _) => format!("Cost: {shown}"),
        (true, false) => format!("No cost is shown: {limits}"),
        (true, true) => "The cost is not known".to_owned(),
    }
}

/// The groups of cells in which it gains nothing that is shown.
fn without_gain(best: &Candidate) -> Option<String> {
    let regimes = best.regimes.iter();
    let regimes = regimes.filter(|it| !it.judged.iter().any(|it| it.is(Outcome::Better)));
    let regimes: Vec<String> = regimes.map(|it| it.regime.words(it.cells)).collect();
    (!regimes.is_empty()).then(|| format!("No gain is shown for: {}.", regimes.join("; ")))
}
