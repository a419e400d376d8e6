//! `comment.md`: what a maintainer reads in an issue, in at most 200 words. It explains each term that it uses.

use std::collections::BTreeSet;

use poll_probe::{Budget, Limit, Wake};
use run_format::Cell;

use super::markdown::CHARTS;
use super::method;
use crate::measure::{Metric, MetricKey};
use crate::prose::{self, prose};
use crate::summary::{Resolved, Summary};
use crate::text::joined_any;
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
    let worst = summary.by_time_beyond(verdict.site).first().copied();
    let before_after = |metric: Metric| {
        let what = MetricKey::new(verdict.site, metric);
        let is_resolved = worst?.change(what, best.variant)?.resolved != Resolved::No;
        let values = [worst?.value(what, 0)?, worst?.value(what, best.variant)?];
        is_resolved.then_some(values)
    };
    // None if it is another program.
    let bounds = summary.variants[best.variant].bounds();
    let bounds: BTreeSet<String> = bounds.map(|(_, budget)| in_words(budget)).collect();
    let groups: Vec<(String, usize, &[Judged])> = match &best.regimes[..] {
        [] => vec![(String::new(), verdict.cells, &best.judged[..])],
        regimes => {
            let named = regimes.iter().map(
                |InRegime {
                     place,
                     cells,
                     judged,
                     ..
                 }| { (format!(" ({place})"), *cells, &judged[..]) },
            );
            named.collect()
        }
    };
    let said = |is_one: fn(&Judged) -> bool| {
        let of_group = |(group, cells, judged): &(String, usize, &[Judged])| {
            let costs = judged.iter().filter(|it| !it.quantity.is_benefit);
            let phrases = costs.filter(|it| is_one(it));
            let phrases = phrases.map(|it| it.phrase_within(*cells));
            Some((group.clone(), joined_any(phrases, ", ")?))
        };
        groups.iter().filter_map(of_group).collect()
    };
    let all = groups.iter().flat_map(|(.., judged)| judged.iter());
    let open = all.filter(|it| !it.quantity.is_benefit && !it.is_cost() && it.is(Outcome::Unknown));
    prose::sentences(&prose!('a "comment.txt" {
        verdict: &'a Verdict = verdict,
        best: &'a Candidate = best,
        is_application: bool = summary.identity.application.is_some(),
        function: &'a str = summary.function(verdict.site),
        worst: Option<Cell> = worst.map(|cell| cell.measured.cell),
        beyond_ms: Option<[f64; 2]> = before_after(Metric::BeyondMsPerS),
        late_us: Option<[f64; 2]> = before_after(Metric::CotenantP90Us),
        bounds: BTreeSet<String> = bounds,
        costs: Vec<(String, String)> = said(Judged::is_cost),
        limits: Vec<(String, String)> = said(|it| !it.is_cost() && it.is(Outcome::NotWorse)),
        open: BTreeSet<&'static str> = open.map(|it| it.quantity.words).collect(),
        confidence: String = text::confidence(verdict.confidence),
    }))
}

fn in_words(budget: Budget) -> String {
    prose::text(&prose!("bound.txt" { budget: Budget = budget }))
}
