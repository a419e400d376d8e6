//! `comment.md`: what a maintainer reads in an issue. A line for each question, a table, and what is needed to measure it again.

use std::collections::BTreeSet;

use poll_probe::{Budget, Limit, Wake};
use run_format::Cell;

use super::markdown::{CHARTS, Row, quoted, table};
use super::{emphasised, method};
use crate::measure::{Metric, MetricKey};
use crate::prose::{self, prose};
use crate::summary::{Resolved, Summary};
use crate::text::{capitalised, count, number};
use crate::verdict::{Candidate, Judged, Verdict};
use crate::views::{Entry, Scene};

pub(crate) const COMMENT: &str = "comment.md";

/// Beside the table.
const MOST_WORDS: usize = 150;

/// The rows that a maintainer asks for, in this order. A row has the first of its metrics that was measured.
const ROWS: [&[Metric]; 5] = [
    &[Metric::BeyondMsPerS],
    &[Metric::CotenantLatePercent],
    &[Metric::PairCpuUsPerRequest, Metric::CpuUsPerRequest],
    &[Metric::RequestsPerS],
    &[Metric::LatencyP99Ms],
];

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
    let (verdict, summary) = (scene.verdict, scene.summary);
    let Some(best) = verdict.best() else {
        return within(MOST_WORDS.saturating_sub(words(&end)), verdict.sentences()) + &end;
    };
    let answers = verdict.answers().into_iter();
    let answers: String = answers.map(|answer| format!("- {answer}\n")).collect();
    let candidates: Vec<&Candidate> = verdict.best_of_each().into_iter().flatten().collect();
    let table = table(rows(&candidates));
    let left = MOST_WORDS.saturating_sub(words(&end) + words(&answers));
    let others = within(left, lines(verdict, summary, best));
    format!("{answers}\n{table}\n\n{others}{end}")
}

fn within(most_words: usize, lines: Vec<String>) -> String {
    let mut left = most_words;
    let lines = lines.into_iter().map_while(|line| {
        left = left.checked_sub(line.split_whitespace().count() + 1)?;
        Some(format!("- {line}\n"))
    });
    lines.collect()
}

/// Each quantity before, and after by each candidate: in the first group of cells, which is the one without delay if there is
/// one.
fn rows<'a>(candidates: &'a [&'a Candidate]) -> impl Iterator<Item = Row> + 'a {
    let groups = candidates.iter().map(|it| match it.regimes.first() {
        Some(group) => (group.words(), &group.judged),
        None => {
            let cells = it.judged.iter().map(|judged| judged.cells).max();
            (count(cells.unwrap_or(0), "cell"), &it.judged)
        }
    });
    let groups: Vec<(String, &Vec<Judged>)> = groups.collect();
    ROWS.into_iter().filter_map(move |metrics| {
        let is_measured = |metric: &&Metric| {
            let mut judged = groups.iter().flat_map(|(_, judged)| judged.iter());
            judged.any(|judged| judged.quantity.metric == **metric)
        };
        let metric = *metrics.iter().find(is_measured)?;
        let of_metric = |judged: &&Judged| judged.quantity.metric == metric;
        let judged = groups
            .iter()
            .map(|(_, judged)| judged.iter().find(of_metric));
        let judged: Vec<Option<&Judged>> = judged.collect();
        let first = judged.iter().flatten().next()?;
        let (place, _) = groups.first()?;
        let unit = metric.info().unit;
        let level =
            |at: usize| move |it: &Judged| Some(format!("{} {unit}", number(it.levels?[at])));
        let mut row = Row::of(capitalised(place), first.quantity.words)
            .with("before", level(0)(first).unwrap_or_default());
        for (candidate, judged) in candidates.iter().zip(judged) {
            let after = judged.and_then(level(1));
            row = row.with_any(quoted(&candidate.label), after);
            row = row.with_any("change", judged.map(change));
        }
        Some(row)
    })
}

/// A change of which the interval has zero is not resolved, whatever its middle.
fn change(judged: &Judged) -> String {
    let change = emphasised(judged);
    match change.split_once('[') {
        Some((_, interval)) if judged.interval.covers(0.0) => format!("not resolved [{interval}"),
        _ => change,
    }
}

fn lines(verdict: &Verdict, summary: &Summary, best: &Candidate) -> Vec<String> {
    let worst = summary.by_time_beyond(verdict.site).first().copied();
    let before_after = |metric: Metric| {
        let what = MetricKey::new(verdict.site, metric);
        let is_resolved = worst?.change(what, best.variant)?.resolved != Resolved::No;
        let values = [worst?.value(what, 0)?, worst?.value(what, best.variant)?];
        is_resolved.then_some(values)
    };
    // None if it is another program.
    let variant = &summary.variants[best.variant];
    let remedies = variant.budgets.remedies();
    let remedies = remedies.map(|(remedy, way)| remedy.says(way).to_owned());
    let bounds = variant.bounds().map(|(_, budget)| in_words(budget));
    let bounds: BTreeSet<String> = remedies.chain(bounds).collect();
    prose::sentences(&prose!('a "comment.txt" {
        verdict: &'a Verdict = verdict,
        best: &'a Candidate = best,
        is_application: bool = summary.identity.application.is_some(),
        function: &'a str = summary.function(verdict.site),
        worst: Option<Cell> = worst.map(|cell| cell.measured.cell),
        beyond_ms: Option<[f64; 2]> = before_after(Metric::BeyondMsPerS),
        late_us: Option<[f64; 2]> = before_after(Metric::CotenantP90Us),
        bounds: BTreeSet<String> = bounds,
        confidence: String = crate::text::confidence(verdict.confidence),
    }))
}

fn in_words(budget: Budget) -> String {
    prose::text(&prose!("bound.txt" { budget: Budget = budget }))
}
