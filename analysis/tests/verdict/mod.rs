//! Every sentence and table field of a verdict says what its intervals show, whatever the intervals are. The checks only read
//! the text.

mod invented;

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand::rngs::StdRng;
use run_format::Ends;

use self::invented::verdict;
use super::delay_group::Delay;
use super::{Candidate, Class, GroupChanges, Outcome, QuantityChange, Verdict};
use crate::metrics::{Metric, Quantity};
use crate::report;
use crate::report::effects::{self, Effects};
use crate::report::markdown::Field;
use crate::stats::Interval;

const SEED: u64 = 20_253;
const VERDICTS: usize = 4000;

/// How much worse a quantity gets at least and at most.
fn loss(change: &QuantityChange) -> (f64, f64) {
    let Interval { low, high } = change.interval;
    if !change.quantity.is_lower_better() {
        (-high, -low)
    } else {
        (low, high)
    }
}

/// Checks the class of a candidate against the intervals that decide.
fn check_class(candidate: &Candidate, decision: Option<&str>) {
    let deciding = candidate.deciding();
    let any = |is: fn(f64, f64, f64) -> bool| {
        let mut changes = deciding.iter();
        changes.any(|change| is(loss(change).0, loss(change).1, change.quantity.margin))
    };
    let better = any(|_, high, margin| high < -margin);
    let worse = any(|low, _, margin| low > margin);
    let mut costs = deciding
        .iter()
        .filter(|change| !change.quantity.is_benefit());
    let costs_known = costs.all(|change| loss(change).1 <= change.quantity.margin);
    let result = candidate.result();
    if candidate.never_fired {
        return;
    }
    let answer = match (better, worse) {
        (_, true) => "worse",
        (true, _) if costs_known => "better",
        _ if any(|_, high, margin| high > margin) || deciding.is_empty() => "unknown",
        _ => "no worse than the margin",
    };
    assert_eq!(candidate.outcome().words(), answer);
    let expected = match (better, worse) {
        (true, true) => "trade-off",
        (true, false) if costs_known => "helps",
        (true, false) => "helps, cost not fully known",
        (false, true) => "harms",
        (false, false) => {
            assert!(
                ["no gain greater than the margins", "not known"].contains(&result),
                "{result}"
            );
            result
        }
    };
    assert_eq!(result, expected);
    let Some(decision) = decision else {
        return;
    };
    assert!(better, "{decision}");
    assert_eq!(says_worse(decision), worse, "{decision}");
    if result == "trade-off" {
        let mut costs = deciding
            .iter()
            .filter(|change| change.quantity.margin < loss(change).0);
        let is_named = costs.any(|change| decision.contains(&change.in_words()));
        assert!(is_named, "{decision}");
    }
    if candidate.groups.is_empty() {
        let is_open = !worse && !costs_known;
        let says_open = decision.contains(" may be ") || decision.contains(" is not known");
        assert_eq!(says_open, is_open, "{decision}");
    }
    for group in &candidate.groups {
        check_place(decision, group);
    }
}

fn says_worse(decision: &str) -> bool {
    decision.contains("if you accept ") || decision.contains("it harms")
}

/// Checks that the sentence of the decision about the cells of a group says what the group's intervals show. A sentence that
/// names no cells is about all cells.
fn check_place(decision: &str, group: &GroupChanges) {
    let decision = decision.to_lowercase();
    // What is not known comes after a semicolon, and names its own cells.
    let sentences = decision.split_inclusive(". ");
    let mut sentences = sentences.filter_map(|sentence| sentence.split("; ").next());
    let is_any_delay = |text: &str| text.contains("with delay");
    let names_it = |text: &&str| match group.group.delay {
        Delay::None => text.contains("without delay"),
        Delay::Short => text.contains("at 5 ms of delay") || is_any_delay(text),
        Delay::Long => text.contains("at 25 to 200 ms of delay") || is_any_delay(text),
    };
    let says = sentences.find(names_it).unwrap_or(&decision);
    let any = |is: fn(f64, f64, f64) -> bool| {
        let mut changes = group.changes.iter();
        changes.any(|change| is(loss(change).0, loss(change).1, change.quantity.margin))
    };
    let better = any(|_, high, margin| high < -margin);
    let worse = any(|low, _, margin| low > margin);
    let advises = says.contains("bound `") || says.contains("it gains");
    assert_eq!(advises, better, "{:?}: {decision}", group.group);
    assert_eq!(says_worse(says), worse, "{:?}: {decision}", group.group);
    let says_nothing = says.contains("nothing is shown");
    assert_eq!(
        says_nothing,
        !better && !worse,
        "{:?}: {decision}",
        group.group
    );
}

fn is_open(change: &QuantityChange) -> bool {
    let limit = if change.quantity.is_benefit() {
        -change.quantity.margin
    } else {
        change.quantity.margin
    };
    let (low, high) = loss(change);
    low < limit && limit < high && low <= 0.0 && high >= 0.0
}

fn check_candidate(candidate: &Candidate, verdict: &Verdict) {
    let deciding = candidate.deciding();
    let details = verdict.details(candidate);
    let says_longer = details.iter().any(|line| line.contains("times as long"));
    assert!(!says_longer || deciding.iter().any(is_open), "{details:?}");
    let row = &report::rows_of_changes("variant", verdict, [candidate])[0];
    for change in &candidate.changes {
        let has_its_title = |field: &&Field| field.title == change.quantity.words();
        let field = row.fields.iter().find(has_its_title);
        let field = &field.expect("it is in the table").text;
        let text = change.in_words();
        assert!(field.contains(&text), "{field} without {text}");
        assert_eq!(
            field.contains("**"),
            is_beyond(change) && !candidate.never_fired,
            "{field}"
        );
    }
}

fn is_beyond(change: &QuantityChange) -> bool {
    let (low, high) = loss(change);
    low > change.quantity.margin || high < -change.quantity.margin
}

/// Checks that each table shows the same candidates, and marks each change by its interval.
fn check_effects(verdict: &Verdict, marks: &mut BTreeSet<&'static str>) {
    for effects in effects::tables(verdict) {
        for row in effects.rows() {
            for field in &row.candidates {
                marks.insert(match &field.change {
                    field if field.contains("**") => "bold",
                    field if field.starts_with("not resolved") => "not resolved",
                    field if field == "not compared" => "not compared",
                    _ => "plain",
                });
            }
        }
    }
    for candidate in effects::shown(verdict) {
        for (change, field) in effects::changes(candidate) {
            let (low, high) = loss(&change);
            assert_eq!(field.contains("**"), is_beyond(&change), "{field}");
            let is_open = !is_beyond(&change) && low <= 0.0 && high >= 0.0;
            assert_eq!(field.starts_with("not resolved"), is_open, "{field}");
        }
        assert!(!candidate.label.contains("A/A"), "{}", candidate.label);
    }
}

fn check_verdict(verdict: &Verdict, marks: &mut BTreeSet<&'static str>) {
    let sentences = verdict.sentences();
    let gains = |candidate: &&Candidate| {
        !candidate.never_fired
            && candidate
                .deciding()
                .iter()
                .any(|change| loss(change).1 < -change.quantity.margin)
    };
    let gaining: Vec<&Candidate> = verdict.candidates.iter().filter(gains).collect();
    let says_none = sentences[0].starts_with("No variant");
    assert_eq!(says_none, gaining.is_empty(), "{}", sentences[0]);
    check_clauses(&sentences);
    check_control(verdict, &sentences);
    check_effects(verdict, marks);
    check_leaders(verdict);
    let best = verdict.best().map(|candidate| candidate.variant);
    for candidate in &verdict.candidates {
        let is_best = Some(candidate.variant) == best;
        check_class(candidate, is_best.then_some(&*sentences[0]));
        if !candidate.never_fired {
            check_candidate(candidate, verdict);
        }
        if is_best {
            check_decision(verdict, candidate, &sentences);
        }
    }
}

/// No sentence is about the A/A control. The table has its row last, and calls it a control.
fn check_control(verdict: &Verdict, sentences: &[String]) {
    for sentence in sentences {
        assert!(!sentence.contains("A/A"), "{sentence}");
    }
    if verdict.control.is_some() {
        let rows = report::rows_of_changes("variant", verdict, &verdict.candidates);
        let last = &rows.last().expect("the control has a row").fields;
        assert_eq!(last[0].text, format!("`{}`", invented::CONTROL));
        assert_eq!(last[last.len() - 1].text, "A/A control");
    }
}

/// Checks that no clause is too long to read. Each name in a list of cells or quantities is a clause.
fn check_clauses(sentences: &[String]) {
    const MOST_WORDS: usize = 25;
    for sentence in sentences {
        for clause in sentence.split([',', ':', ';', '.']) {
            let words = clause.split_whitespace().count();
            assert!(words <= MOST_WORDS, "{words} words: {clause}");
        }
    }
}

/// Checks that the first line says what to do, how sure that is, and whether it depends on the threshold.
fn check_decision(verdict: &Verdict, best: &Candidate, sentences: &[String]) {
    let first = &sentences[0];
    assert!(
        first.contains("ound `yamux Active::poll` with `muxer="),
        "{first}"
    );
    assert_eq!(
        first.contains("One visit to each cell suggests"),
        verdict.has_single_launches,
        "{first}"
    );
    let depends = first.contains("the sign of the effect depends on the threshold");
    assert_eq!(depends, !best.opposite.is_empty(), "{first}");
}

/// Checks that no candidate beats the leading one. One beats another if it is better in something and worse in nothing.
fn check_leaders(verdict: &Verdict) {
    let beats = |changes: &[QuantityChange]| {
        let any = |is: fn(&QuantityChange) -> bool| changes.iter().any(is);
        any(|change| loss(change).1 < -change.quantity.margin)
            && !any(|change| loss(change).0 > change.quantity.margin)
    };
    let gaining = verdict
        .candidates
        .iter()
        .filter(|candidate| candidate.gains())
        .count();
    let best = verdict.best().map(|candidate| candidate.variant);
    let mut beaten = 0;
    for at in 0..verdict.candidates.len() {
        let is_beaten = verdict
            .pairs
            .iter()
            .any(|pair| pair.from == at && beats(&pair.changes));
        beaten += usize::from(is_beaten);
    }
    if beaten < gaining {
        let at = verdict
            .candidates
            .iter()
            .position(|candidate| Some(candidate.variant) == best);
        let at = at.expect("one is beaten by none");
        let is_beaten = verdict
            .pairs
            .iter()
            .any(|pair| pair.from == at && beats(&pair.changes));
        assert!(!is_beaten, "{at}");
    }
}

#[test]
fn the_first_line_says_for_which_cells_it_holds() {
    const GAIN: f64 = -50.0;
    const NOTHING: f64 = 0.0;
    const HARM: f64 = 50.0;
    const BOUND: &str = "ound `yamux Active::poll` with `muxer=0`.";
    let [none, short, long] = [Delay::None, Delay::Short, Delay::Long];
    let cases: [(&[_], String); 6] = [
        (
            &[(none, GAIN), (long, NOTHING)],
            format!("Without delay: b{BOUND} With delay nothing is shown."),
        ),
        (
            &[(none, NOTHING), (short, GAIN), (long, GAIN)],
            format!("With delay: b{BOUND} Without delay nothing is shown."),
        ),
        (
            &[(none, GAIN), (short, GAIN), (long, NOTHING)],
            format!(
                "Without delay and at 5 ms of delay: b{BOUND} At 25 to 200 ms of delay nothing is shown."
            ),
        ),
        (
            &[(none, GAIN), (short, NOTHING), (long, HARM)],
            format!(
                "Without delay: b{BOUND} At 25 to 200 ms of delay it harms: time beyond the threshold +50.0 % [+45.0, +55.0]. At 5 ms of delay nothing is shown."
            ),
        ),
        (
            &[(none, GAIN), (short, GAIN), (long, GAIN)],
            format!("B{BOUND}"),
        ),
        (
            &[(none, NOTHING), (long, HARM)],
            "No variant is shown to gain more than the margins in any group of cells.".to_owned(),
        ),
    ];
    for (changes_by_group, line) in cases {
        assert_eq!(invented::about_one(changes_by_group).sentences()[0], line);
    }
}

#[test]
fn shorter_polls_come_before_fewer_bounds_if_neither_beats_the_other() {
    let best = |verdict: &Verdict| verdict.best().map(|best| best.variant);
    assert_eq!(best(&invented::about_two(80.0, 10.0)), Some(2));
    assert_eq!(best(&invented::about_two(0.0, 0.0)), Some(1));
}

#[test]
fn a_candidate_that_gains_in_more_rows_comes_first() {
    let mut verdict = invented::about_two(-80.0, -10.0);
    let saved = invented::about_application(&[(Metric::PairCpuUsPerRequest, -50.0)]);
    verdict.quantities = vec![beyond(), saved.quantities[0]];
    let second = &mut verdict.candidates[1];
    second.changes.extend(saved.candidates[0].changes.iter());
    assert_eq!(verdict.best().map(|best| best.variant), Some(2));
}

#[test]
fn the_merge_and_the_own_node_have_a_line_each() {
    let [without, long] = [Delay::None, Delay::Long];
    let mut verdict = invented::about_one(&[(without, -40.0), (long, 0.0)]);
    let merged = invented::about_one(&[(without, 0.0), (long, 0.0)])
        .candidates
        .into_iter()
        .map(|candidate| Candidate {
            variant: 2,
            label: "muxer=0@both".to_owned(),
            ends: Ends::Both,
            ..candidate
        });
    verdict.candidates.extend(merged);
    let sentences = verdict.sentences();
    assert_eq!(
        sentences[0],
        "If merged upstream, at both ends: no variant is shown to gain more than the margins in any group of cells."
    );
    assert_eq!(
        sentences[1],
        "In your own node, without delay: bound `yamux Active::poll` with `muxer=0`. With delay nothing is shown."
    );
}

#[test]
fn a_sweep_of_copies_proposes_nothing_and_shows_how_they_differ() {
    let mut verdict = invented::about_one(&[(Delay::None, -50.0), (Delay::Long, 0.0)]);
    let control = verdict.candidates.pop().map(|control| Candidate {
        label: "none@both".to_owned(),
        ..control
    });
    verdict.quantities = vec![beyond()];
    verdict.control = control;
    let sentences = verdict.sentences();
    let expected = "Nothing is proposed: `none@both` is an A/A control, a second copy of the baseline. The tables show by how \
                    much noise alone makes the two differ.";
    assert_eq!(sentences, [expected]);
    let tables = effects::tables(&verdict);
    let labels: Vec<&str> = tables.iter().flat_map(Effects::labels).collect();
    assert_eq!(labels, ["none@both"; 2]);
}

fn beyond() -> Quantity {
    Quantity::by_metric(Metric::BeyondMsPerS).expect("it decides")
}

#[test]
fn every_text_says_what_the_intervals_show() {
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut marks = BTreeSet::new();
    let mut classes = BTreeSet::new();
    let mut leaders = BTreeSet::new();
    for _ in 0..VERDICTS {
        let verdict = verdict(&mut rng);
        check_verdict(&verdict, &mut marks);
        classes.extend(verdict.candidates.iter().map(Candidate::class));
        leaders.insert(verdict.leaders().len());
    }
    for mark in ["bold", "plain", "not resolved", "not compared"] {
        assert!(marks.contains(mark), "no table had this mark: {mark}");
    }
    assert_eq!(classes.len(), 8, "{classes:?}");
    assert!(
        leaders.contains(&0) && leaders.contains(&1) && leaders.contains(&3),
        "{leaders:?}"
    );
    assert!(classes.contains(&Class::NoSite));
}

#[test]
fn nothing_is_recommended_to_an_application_without_a_cost_and_a_shorter_wait() {
    use crate::metrics::Metric::{BeyondMsPerS, CotenantP90Us, CpuUsPerMib};
    let (beyond, wait, cost) = (
        (BeyondMsPerS, -50.0),
        (CotenantP90Us, -50.0),
        (CpuUsPerMib, 0.0),
    );
    for (changes, lacks) in [
        (
            &[beyond][..],
            "no other task is shown to wait less, and no cost was measured",
        ),
        (&[beyond, wait], "no cost was measured"),
        (&[beyond, cost], "no other task is shown to wait less"),
    ] {
        let verdict = invented::about_application(changes);
        assert_eq!(verdict.candidates[0].outcome(), Outcome::NotWorse);
        let answer = verdict.answers().concat();
        let label = invented::candidate_label(0);
        let expected = format!("Nothing is recommended. `{label}` gains something, but {lacks}.");
        assert_eq!(answer, expected);
    }
    let verdict = invented::about_application(&[beyond, wait, cost]);
    assert_eq!(verdict.candidates[0].outcome(), Outcome::Better);
    let answer = verdict.answers().concat();
    assert!(answer.starts_with("Bound "), "{answer}");
    let said = verdict.sentences().join("\n");
    let requests = "Not measured: throughput, CPU time per request, request latency (p99). The application would have to call `count_request`.";
    assert!(said.contains(requests), "{said}");
    let bytes = "Not measured: data rate. The application would have to call `count_bytes`.";
    assert!(said.contains(bytes), "{said}");
}
