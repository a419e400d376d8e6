//! `comment.md`: what a maintainer reads in an issue. A line for each question, a table, and what is needed to measure it again.

use std::collections::BTreeSet;

use poll_probe::{Budget, Limit, Wake};
use run_format::Cell;

use super::markdown::{CHARTS, table};
use super::{effects, method};
use crate::measure::{Metric, MetricKey};
use crate::prose::{self, prose};
use crate::summary::{Resolved, Summary};
use crate::verdict::{Candidate, Verdict};
use crate::views::{Entry, Scene};

pub(crate) const COMMENT: &str = "comment.md";

/// Beside the table.
const MOST_WORDS: usize = 120;

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
    // The first group of cells is the one without delay, if there is one.
    let table = effects::tables(verdict)
        .first()
        .map(|effects| table(effects.rows()));
    let table = table.unwrap_or_default();
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
