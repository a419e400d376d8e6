//! The report of a search: which budgets are left, what they do, and why the others left.

use super::{
    caveats,
    markdown::{Document, joined, quoted},
    method, terms,
};
use crate::{
    options::Options,
    report,
    search::{Left, Round, Search, Why},
    site::SiteNames,
    text::count,
    verdict::{Candidate, Judged},
    views::Entry,
};

const TERMS: [terms::Term; 6] = [
    terms::BUDGET,
    terms::SITE,
    terms::CO_TENANT,
    terms::CONTROL,
    terms::CELL,
    terms::SLOW_POLL,
];

pub(crate) fn in_short(search: &Search) -> Vec<String> {
    let Some(last) = search.rounds.last() else {
        return Vec::new();
    };
    let mut sentences = last.verdict.sentences();
    let candidates = search.of.config.variants.len() - 2;
    sentences.push(format!(
        "The search began with {candidates} budgets. {} are left after {}: no other budget is shown to be at least as \
         good as they are.",
        last.staying().count(),
        count(search.rounds.len(), "round")
    ));
    sentences.extend(caveats::incomplete(&last.summary));
    sentences
}

pub(crate) fn text(
    name: &str,
    search: &Search,
    in_short: &[String],
    pictures: &[Entry],
    options: &Options,
) -> String {
    let title = format!("Search over budgets: {name}");
    let sites = SiteNames::of(None);
    let mut document = Document::new(&title, in_short, pictures, &TERMS, &sites, options);
    let Some(last) = search.rounds.last() else {
        return document.finish(pictures);
    };
    document.heading("The budgets that are left");
    remaining(&mut document, last);
    document.heading("Rounds");
    rounds(&mut document, search);
    document.details("Why the others left", |document| {
        let foreseen = search.foreseen();
        if !foreseen.is_empty() {
            document.paragraph(format!(
                "Not measured, because none of them would have ended a poll of those recorded at the first look: {}.",
                joined(foreseen.iter().map(quoted), ", ")
            ));
        }
        for (number, round) in (1..).zip(&search.rounds) {
            document.paragraph(format!("**Round {number}**"));
            document.table("budget | reason", departures(round));
        }
    });
    method::write(&mut document, &last.summary);
    document.finish(pictures)
}

/// The Pareto set: in no quantity that decides is another shown to be better without being worse in one.
fn remaining(document: &mut Document, last: &Round) {
    let verdict = &last.verdict;
    let stays: Vec<usize> = last.staying().map(|(variant, _)| variant).collect();
    let left = |candidate: &&Candidate| stays.contains(&candidate.variant);
    let (mut head, rows) = report::table(verdict, verdict.candidates.iter().filter(left));
    head[0] = "budget".to_owned();
    document.table(&head.join(" | "), rows);
    document.list([format!(
        "Changes from no budget: means over {}. The intervals hold together with 95 % for all budgets of the last \
         round.",
        count(verdict.cells, "cell")
    )]);
}

fn rounds(document: &mut Document, search: &Search) {
    let row = |(number, round): (usize, &Round)| {
        let left =
            |is_one: fn(&Why) -> bool| round.left.iter().filter(|it| is_one(&it.why)).count();
        let idle = left(|why| matches!(why, Why::NeverFires));
        let dominated = left(|why| matches!(why, Why::Dominated { .. }));
        let blocks = round.summary.measured().map(|it| it.measured.blocks);
        vec![
            number.to_string(),
            round.summary.candidates().count().to_string(),
            format!("{:.0} s", round.summary.identity.took_ms as f64 / 1e3),
            joined(blocks, ", "),
            idle.to_string(),
            dominated.to_string(),
            (round.left.len() - idle - dominated).to_string(),
            round.staying().count().to_string(),
        ]
    };
    let head =
        "round | budgets | time | blocks by cell | never fired | dominated | outranked | left";
    document.table(head, (1..).zip(&search.rounds).map(row));
    document.list([
        "A budget is dominated if another one, or no budget, is at least as good for the co-tenant, in CPU time per \
         request and in throughput: gains greater than the margins are excluded with 95 %, and a loss is shown."
            .to_owned(),
        "If more budgets stay than the next round has time for, those leave that most others are ahead of: by the \
         estimates, for the co-tenant, in CPU time per request and in throughput."
            .to_owned(),
        "A round judges by its own measurements alone. So the budgets that are left are judged by turns that did not \
         choose them."
            .to_owned(),
    ]);
}

fn departures(round: &Round) -> Vec<Vec<String>> {
    let label = |variant: usize| match round.summary.variants.get(variant) {
        Some(variant) => quoted(&variant.label),
        None => "no budget".to_owned(),
    };
    let row = |left: &Left| {
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
        vec![label(left.variant), reason]
    };
    round.left.iter().map(row).collect()
}
