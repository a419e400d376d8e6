//! The report of a search: which budgets remain, what they do, and why the others were eliminated.

use super::markdown::{self, Frame, Row, table};
use super::{caveats, method};
use crate::metrics::Side;
use crate::prose::{self, prose};
use crate::report;
use crate::report_kind::ReportKind;
use crate::search::{Round, Search, Why};
use crate::text::{joined, quoted};
use crate::verdict::{Candidate, QuantityChange};

pub(crate) fn in_short(search: &Search, last: &Round) -> Vec<String> {
    let mut sentences = last.verdict.sentences();
    sentences.push(prose::text(&prose!("search_in_short.txt" {
        candidates: usize = search.candidates().count(),
        left: usize = last.staying().count(),
        rounds: usize = search.rounds.len(),
    })));
    sentences.extend(caveats::incomplete(&last.summary));
    sentences
}

pub(crate) fn text(name: &str, search: &Search, last: &Round, frame: Frame) -> String {
    let title = format!("Search over budgets: {name}");
    let sites = &last.summary.identity.sites;
    let parts = [Some(remaining(search, last)), method::text(&last.summary)];
    markdown::report(ReportKind::Search, &title, sites, frame, parts)
}

fn remaining(search: &Search, last: &Round) -> String {
    // The Pareto set: no other budget is shown to be better in a quantity that decides and worse in none.
    let staying: Vec<usize> = last.staying().map(|(variant, _)| variant).collect();
    let stays = |candidate: &&Candidate| staying.contains(&candidate.variant);
    let remaining = last.verdict.candidates.iter().filter(stays);
    prose::text(&prose!('a "search.txt" {
        search: &'a Search = search,
        remaining: String = table(report::rows_of_changes("budget", &last.verdict, remaining)),
        cells: usize = last.verdict.cells,
        rounds: String = table(rounds(search)),
        foreseen: Vec<String> = search.foreseen().map(quoted).collect(),
    }))
}

fn rounds(search: &Search) -> impl Iterator<Item = Row> {
    (1..).zip(&search.rounds).map(|(number, round)| {
        let eliminated = |is_reason: fn(&Why) -> bool| {
            let reasons = round.eliminated.iter().map(|one| &one.why);
            reasons.filter(|why| is_reason(why)).count()
        };
        let dominated = eliminated(|why| matches!(why, Why::Dominated { .. }));
        let blocks = round.summary.measured_cells().map(|cell| cell.data.blocks);
        let seconds = round.summary.identity.took_ms as f64 / 1e3;
        Row::new("round", number)
            .with("budgets", round.summary.candidates().count())
            .with("time", format!("{seconds:.0} s"))
            .with("blocks by cell", joined(blocks, ", "))
            .with(
                "never fired",
                eliminated(|why| matches!(why, Why::NeverFires)),
            )
            .with("dominated", dominated)
            .with(
                "outranked",
                eliminated(|why| matches!(why, Why::Outranked(_))),
            )
            .with("left", round.staying().count())
    })
}

fn label(round: &Round, side: Side) -> String {
    match side {
        Side::Variant(variant) => quoted(&round.summary.variants[variant].label),
        Side::Reference => "no budget".to_owned(),
    }
}

fn phrases(changes: &[QuantityChange]) -> String {
    let phrase =
        |change: &QuantityChange| format!("{} {}", change.quantity.words(), change.in_words());
    joined(changes.iter().map(phrase), ", ")
}
