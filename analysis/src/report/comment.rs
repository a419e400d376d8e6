//! `comment.md`: what a maintainer reads in an issue, in at most 200 words. It explains each term that it uses.

use std::collections::BTreeSet;

use poll_probe::{Budget, Limit, Wake};

use super::markdown::{CHARTS, quoted};
use super::method;
use crate::measure::{Metric, MetricKey};
use crate::summary::Summary;
use crate::text::{count, joined_any, number};
use crate::verdict::{Candidate, InRegime, Judged, Outcome, Verdict};
use crate::views::{Entry, Scene};

pub(crate) const COMMENT: &str = "comment.md";

const MOST_WORDS: usize = 200;

pub(crate) fn text(scene: &Scene, pictures: &[Entry]) -> String {
    let options = scene.options;
    let first = pictures.first();
    let first = first.and_then(|first| Some((first, first.files().into_iter().next()?)));
    // An image's address if there is one, else what a person drags in.
    let mut end = first.map_or_else(String::new, |(picture, file)| {
        let link = format!("{}{CHARTS}/{file}", options.link_base());
        match options.pictures.link_base {
            Some(_) => format!("\n![{}]({link})\n", picture.picture.title),
            None => format!("\n(Drag the picture `{link}` here.)\n"),
        }
    });
    if let Some(manifest) = &scene.summary.identity.manifest {
        end += &format!("\n```\n{}\n```\n", method::command(manifest));
    }
    let words = |text: &str| text.split_whitespace().count();
    let mut left = MOST_WORDS.saturating_sub(words(&end));
    let mut text = String::new();
    for line in lines(scene.verdict, scene.summary) {
        let Some(rest) = left.checked_sub(words(&line) + 1) else {
            break;
        };
        left = rest;
        text += &format!("- {line}\n");
    }
    text + &end
}

fn lines(verdict: &Verdict, summary: &Summary) -> Vec<String> {
    let Some(best) = verdict.best() else {
        return verdict.sentences();
    };
    let mut lines = vec![verdict.decision(best)];
    lines.extend(worst_cell(verdict, summary, best));
    lines.extend(meaning(summary, best));
    lines.extend(costs(best));
    lines.extend(without_gain(best));
    let once = match verdict.is_one_visit {
        true => "; each cell was launched once, so this is a first look",
        false => "",
    };
    lines.push(format!(
        "Measured over {} with intervals of {} % in brackets{once}.",
        count(verdict.cells, "cell"),
        number(100.0 * verdict.confidence)
    ));
    lines
}

fn worst_cell(verdict: &Verdict, summary: &Summary, best: &Candidate) -> Option<String> {
    let what = MetricKey::new(verdict.site, Metric::BeyondMsPerS);
    let cell = *summary.by_time_beyond(verdict.site).first()?;
    let (before, after) = (cell.value(what, 0)?, cell.value(what, best.variant)?);
    let late = MetricKey::new(verdict.site, Metric::CotenantP90Us);
    let late = cell.value(late, 0).zip(cell.value(late, best.variant));
    let late = late.map_or_else(String::new, |(before, after)| {
        let (before, after) = (number(before), number(after));
        format!(
            " After one of ten wake-ups another task on this thread waits at least {before} µs longer than on an idle node; \
             with it {after} µs."
        )
    });
    let (function, threshold) = (summary.function(verdict.site), &verdict.threshold);
    let (before, after, label) = (number(before), number(after), quoted(&best.label));
    Some(format!(
        "Worst cell ({}): the parts of polls of `{function}` after their first {threshold} add up to {before} ms in each \
         second; with {label} to {after} ms.{late}",
        cell.measured.cell
    ))
}

/// What the budgets of a candidate mean. None if it is another program.
fn meaning(summary: &Summary, best: &Candidate) -> Option<String> {
    let bounds = summary.variants[best.variant].bounds();
    let bounds: BTreeSet<String> = bounds.map(|(_, budget)| in_words(budget)).collect();
    let bounds = joined_any(bounds, "; ")?;
    Some(format!("{} {bounds}.", quoted(&best.label)))
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

/// "Cost (RTT 0, 8 cells): higher CPU time per request (+6.0 % [3.9, 8.2])", and what is not known.
fn costs(best: &Candidate) -> Vec<String> {
    let mut groups: Vec<(String, &[Judged])> = vec![(String::new(), &best.judged)];
    if best.differs {
        let regimes = best.regimes.iter();
        let name = |it: &InRegime| format!(" ({})", it.regime.words(it.cells));
        groups = regimes.map(|it| (name(it), &it.judged[..])).collect();
    }
    let said = |lead: &str, is_one: fn(&Judged) -> bool| {
        let of_group = |(group, judged): &(String, &[Judged])| {
            let costs = judged.iter().filter(|it| !it.quantity.is_benefit);
            let phrases = costs.filter(|it| is_one(it)).map(Judged::phrase);
            Some(format!("{lead}{group}: {}.", joined_any(phrases, ", ")?))
        };
        groups.iter().filter_map(of_group).collect::<Vec<String>>()
    };
    let mut lines = said("Cost", Judged::is_cost);
    let limits = said("Limits of the cost", |it| {
        !it.is_cost() && it.is(Outcome::NotWorse)
    });
    lines.extend(limits);
    let all = groups.iter().flat_map(|(_, judged)| judged.iter());
    let open = all.filter(|it| !it.quantity.is_benefit && !it.is_cost() && it.is(Outcome::Unknown));
    let open: BTreeSet<&str> = open.map(|it| it.quantity.words).collect();
    lines.extend(joined_any(open, ", ").map(|open| format!("Still open: {open}.")));
    lines
}

/// The groups of cells in which it gains nothing that is shown.
fn without_gain(best: &Candidate) -> Option<String> {
    let regimes = best.regimes.iter();
    let regimes = regimes.filter(|it| !it.judged.iter().any(|it| it.is(Outcome::Better)));
    let regimes = joined_any(regimes.map(|it| it.regime.words(it.cells)), "; ")?;
    Some(format!("No gain is shown for: {regimes}."))
}
