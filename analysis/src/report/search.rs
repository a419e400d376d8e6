//! The report of a search: which budgets are left, what they do, and why the others left.

use super::markdown::{Document, Frame, Row, joined, joined_any, quoted};
use super::{caveats, method};
use crate::report;
use crate::search::{Round, Search, Why};
use crate::site::SiteNames;
use crate::text::count;
use crate::verdict::{Candidate, Judged};

pub(crate) fn in_short(search: &Search) -> Vec<String> {
    let Some(last) = search.rounds.last() else {
        return Vec::new();
    };
    let mut sentences = last.verdict.sentences();
    let candidates = search.of.config.variants.len() - 2;
    let (left, rounds) = (last.staying().count(), count(search.rounds.len(), "round"));
    sentences.push(format!(
        "The search began with {candidates} budgets. {left} are left after {rounds}: no other budget is shown to be at \
         least as good as they are."
    ));
    sentences.extend(caveats::incomplete(&last.summary));
    sentences
}

pub(crate) fn text(name: &str, search: &Search, frame: Frame) -> String {
    let title = format!("Search over budgets: {name}");
    let sites = SiteNames::of(None);
    let mut document = Document::new("search", &title, &sites, frame);
    let Some(last) = search.rounds.last() else {
        return document.finish();
    };
    document.heading("The budgets that are left");
    remaining(&mut document, last);
    document.heading("Rounds");
    rounds(&mut document, search);
    document.details("Why the others left", |document| {
        if let Some(foreseen) = joined_any(search.foreseen().map(quoted), ", ") {
            document.paragraph(format!(
                "Not measured, because none of them would have ended a poll of those recorded at the first look: {foreseen}."
            ));
        }
        for (number, round) in (1..).zip(&search.rounds) {
            document.paragraph(format!("**Round {number}**"));
            departures(document, round);
        }
    });
    method::write(&mut document, &last.summary);
    document.finish()
}

/// The Pareto set: in no quantity that decides is another shown to be better without being worse in one.
fn remaining(document: &mut Document, last: &Round) {
    let verdict = &last.verdict;
    let stays: Vec<usize> = last.staying().map(|(variant, _)| variant).collect();
    let left = |candidate: &&Candidate| stays.contains(&candidate.variant);
    let left = verdict.candidates.iter().filter(left);
    document.table(report::changes("budget", verdict, left));
    document.list([format!(
        "Changes from no budget: means over {}. The intervals hold together with 95 % for all budgets of the last \
         round.",
        count(verdict.cells, "cell")
    )]);
}

fn rounds(document: &mut Document, search: &Search) {
    document.table((1..).zip(&search.rounds).map(|(number, round)| {
        let left = |is_one: fn(&Why) -> bool| {
            let why = round.left.iter().map(|left| &left.why);
            why.filter(|why| is_one(why)).count()
        };
        let dominated = left(|why| matches!(why, Why::Dominated { .. }));
        let blocks = round.summary.measured().map(|cell| cell.measured.blocks);
        let seconds = round.summary.identity.took_ms as f64 / 1e3;
        Row::of("round", number)
            .with("budgets", round.summary.candidates().count())
            .with("time", format!("{seconds:.0} s"))
            .with("blocks by cell", joined(blocks, ", "))
            .with("never fired", left(|why| matches!(why, Why::NeverFires)))
            .with("dominated", dominated)
            .with("outranked", left(|why| matches!(why, Why::Outranked(_))))
            .with("left", round.staying().count())
    }));
    document.list([
        "A budget is dominated if another one, or no budget, is at least as good for the co-tenant, in CPU time per \
         request and in throughput: gains greater than the margins are excluded with 95 %, and a loss is shown."
            .to_owned(),
        "If more stay than the next round has time for, those are outranked that most others have better estimates than."
            .to_owned(),
        "A round judges by its own measurements alone, by turns that did not choose its budgets.".to_owned(),
    ]);
}

fn departures(document: &mut Document, round: &Round) {
    let label = |variant: usize| match round.summary.variants.get(variant) {
        Some(variant) => quoted(&variant.label),
        None => "no budget".to_owned(),
    };
    document.table(round.left.iter().map(|left| {
        let reason = match &left.why {
            Why::NeverFires => "it never ended a poll".to_owned(),
            Why::Outranked(ahead) => {
                format!("{ahead} others have better estimates of all that decides")
            }
            Why::Dominated { by, judged } => {
                let changes = joined(judged.iter().map(Judged::phrase), ", ");
                format!("compared with {}: {changes}", label(*by))
            }
        };
        Row::of("budget", label(left.variant)).with("reason", reason)
    }));
}
