//! Whatever the intervals are, every sentence, title and table field says what they show, and no two contradict each
//! other. The checks read the text and know nothing of how it is made.

mod invented;

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand::rngs::StdRng;
use run_format::Ends;

use self::invented::{candidate_label, verdict};
use super::regime::Regime;
use super::{Candidate, Class, InRegime, Judged, Quantity, Verdict, words};
use crate::measure::Metric;
use crate::report;
use crate::stats::Interval;
use crate::text::capitalised;

const SEED: u64 = 20_253;
const VERDICTS: usize = 4000;

/// The part of a text that speaks of one interval.
struct Clause<'a> {
    before: &'a str,
    change: &'a str,
}

/// Each interval is in parentheses, after the words about it.
fn clauses(text: &str) -> Vec<Clause<'_>> {
    let mut clauses = Vec::new();
    let mut start = 0;
    while let Some(bracket) = text[start..].find('[').map(|at| start + at) {
        let open = text[..bracket].rfind('(').expect("a parenthesis");
        let end = bracket + text[bracket..].find(']').expect("its end") + 1;
        clauses.push(Clause {
            before: &text[start..open],
            change: &text[open + 1..end],
        });
        start = end;
    }
    clauses
}

/// The quantity whose name is at the end of the words, and the longest of those.
fn named<'a>(clause: &Clause, judged: &'a [Judged]) -> &'a Judged {
    let is_named = |it: &&Judged| {
        let after = clause.before.rfind(it.quantity.words);
        after.is_some() && it.change() == clause.change
    };
    let named = judged.iter().filter(is_named);
    let named = named.max_by_key(|it| it.quantity.words.len());
    named.unwrap_or_else(|| panic!("{} ({})", clause.before, clause.change))
}

/// How much worse it may be, at least and at most.
fn loss(judged: &Judged) -> (f64, f64) {
    let Interval { low, high } = judged.interval;
    if !judged.quantity.is_lower_better() {
        (-high, -low)
    } else {
        (low, high)
    }
}

fn extremes(quantity: Quantity) -> [String; 2] {
    let words = quantity.words;
    match quantity.metric {
        Metric::RequestsPerS | Metric::MibPerS => ["higher", "lower"],
        Metric::CotenantLatePercent => ["fewer", "more"],
        _ => ["lower", "higher"],
    }
    .map(|word| format!("{word} {words}"))
}

/// Checks the words about one interval, and returns their kind.
fn check(clause: &Clause, judged: &Judged) -> &'static str {
    let (low, high) = loss(judged);
    let margin = judged.margin;
    let [good, bad] = extremes(judged.quantity);
    let words = judged.quantity.words;
    let kinds = [
        (good, "better", high < -margin),
        (bad, "worse", low > margin),
        (
            format!("{words} better, by less"),
            "small gain",
            low >= -margin && high < 0.0,
        ),
        (
            format!("{words} better, perhaps"),
            "gain",
            low < -margin && high < 0.0 && high >= -margin,
        ),
        (
            format!("{words} worse, perhaps"),
            "loss",
            low > 0.0 && low <= margin && high > margin,
        ),
        (
            format!("no gain in {words} greater"),
            "no gain",
            low >= -margin && high >= 0.0 && low <= margin,
        ),
        (
            format!("{words} at most"),
            "bounded",
            high >= 0.0 && high <= margin,
        ),
        (
            format!("{words} undecided"),
            "unknown",
            low <= margin && high >= 0.0 && (low < -margin || high > margin),
        ),
        (
            format!("not shown in {words}"),
            "alike",
            low <= margin && high >= -margin,
        ),
    ];
    // The quantity that is named last is the one.
    let said: Vec<_> = kinds
        .iter()
        .filter(|(text, ..)| clause.before.contains(text))
        .collect();
    let text = format!(
        "{}({}): {low} to {high}, margin {margin}",
        clause.before, clause.change
    );
    let [(_, kind, holds)] = said.as_slice() else {
        panic!("it says {} things: {text}", said.len());
    };
    assert!(holds, "it is no {kind}: {text}");
    if *kind == "bounded" {
        at_most(clause, judged);
    }
    kind
}

/// The number is the interval's end, digit by digit.
fn at_most(clause: &Clause, judged: &Judged) {
    let (_, rest) = clause.before.rsplit_once("at most ").expect("it says so");
    let said = rest.split(' ').next().expect("a number");
    let ends = clause
        .change
        .trim_end_matches(']')
        .rsplit_once('[')
        .expect("an interval")
        .1;
    let (low, high) = ends.split_once(", ").expect("two ends");
    let (end, direction) = if !judged.quantity.is_lower_better() {
        (low, "lower")
    } else {
        (high, "higher")
    };
    assert_eq!(
        said,
        end.trim_start_matches(['+', '−']),
        "{}",
        clause.before
    );
    assert!(clause.before.contains(direction), "{}", clause.before);
}

/// What the class promises, by the intervals that decide.
fn check_class(candidate: &Candidate, decision: Option<&str>) {
    let deciding = candidate.deciding();
    let any = |is: fn(f64, f64, f64) -> bool| {
        let mut judged = deciding.iter();
        judged.any(|it| is(loss(it).0, loss(it).1, it.margin))
    };
    let better = any(|_, high, margin| high < -margin);
    let worse = any(|low, _, margin| low > margin);
    let mut costs = deciding.iter().filter(|it| !it.quantity.is_benefit);
    let costs_known = costs.all(|it| loss(it).1 <= it.margin);
    let result = candidate.result();
    if candidate.is_idle {
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
    if candidate.regimes.is_empty() {
        let is_open = !worse && !costs_known;
        assert_eq!(decision.contains("not known yet"), is_open, "{decision}");
    }
    for regime in &candidate.regimes {
        check_place(decision, regime);
    }
}

fn says_worse(decision: &str) -> bool {
    decision.contains("if what it costs is acceptable") || decision.contains("it harms")
}

/// The sentence of the decision that names the cells of a regime says what the regime's intervals show. One that names no
/// cells is about all.
fn check_place(decision: &str, regime: &InRegime) {
    let decision = decision.to_lowercase();
    let mut sentences = decision.split_inclusive(". ");
    let is_any_delay = |text: &str| {
        let mut rest = text.split("with delay").skip(1);
        rest.any(|rest| !rest.starts_with('s'))
    };
    let names_it = |text: &&str| match regime.regime {
        Regime::Without => text.contains("without delay"),
        Regime::Short => text.contains("with delays up to") || is_any_delay(text),
        Regime::Long => text.contains("with longer delays") || is_any_delay(text),
    };
    let says = sentences.find(names_it).unwrap_or(&decision);
    let any = |is: fn(f64, f64, f64) -> bool| {
        let mut changes = regime.judged.iter();
        changes.any(|change| is(loss(change).0, loss(change).1, change.margin))
    };
    let better = any(|_, high, margin| high < -margin);
    let worse = any(|low, _, margin| low > margin);
    let advises = says.contains("bound `") || says.contains("it gains");
    assert_eq!(advises, better, "{:?}: {decision}", regime.regime);
    assert_eq!(says_worse(says), worse, "{:?}: {decision}", regime.regime);
    let says_nothing = says.contains("nothing is shown");
    assert_eq!(
        says_nothing,
        !better && !worse,
        "{:?}: {decision}",
        regime.regime
    );
}

fn is_open(judged: &Judged) -> bool {
    let limit = if judged.quantity.is_benefit {
        -judged.margin
    } else {
        judged.margin
    };
    let (low, high) = loss(judged);
    low < limit && limit < high && low <= 0.0 && high >= 0.0
}

fn check_candidate(candidate: &Candidate, verdict: &Verdict, kinds: &mut BTreeSet<&'static str>) {
    let deciding = candidate.deciding();
    let details = verdict.details(candidate);
    let says_longer = details.iter().any(|it| it.contains("times as long"));
    assert!(!says_longer || deciding.iter().any(is_open), "{details:?}");
    let sentences = candidate.sentences();
    if candidate.regimes.is_empty() {
        assert_eq!(sentences.len(), 1);
        check_sentence(&sentences[0], &candidate.judged, kinds);
    } else {
        assert_eq!(sentences.len(), candidate.regimes.len());
        for (sentence, regime) in sentences.iter().zip(&candidate.regimes) {
            let place = capitalised(&regime.words());
            assert!(sentence.starts_with(&place), "{sentence}");
            check_sentence(sentence, &regime.judged, kinds);
        }
    }
    let row = &report::changes("variant", verdict, [candidate])[0];
    for judged in &candidate.judged {
        let change = judged.change();
        let mut fields = row.0.iter().map(|(_, field)| field);
        let field = fields
            .find(|it| it.contains(&change))
            .expect("it is in the table");
        let (low, high) = loss(judged);
        let is_beyond = low > judged.margin || high < -judged.margin;
        let of_another = |it: &Judged| it.change() == change && it.quantity != judged.quantity;
        if !candidate.judged.iter().any(of_another) {
            assert_eq!(
                field.contains("**"),
                is_beyond && !candidate.is_idle,
                "{field}"
            );
        }
        let title = judged.title("Slow polls", &candidate.label);
        assert!(
            title.contains(&change) && !title.contains("resolved"),
            "{title}"
        );
    }
}

/// Each interval is said once, under the heading where it belongs.
fn check_sentence(text: &str, judged: &[Judged], kinds: &mut BTreeSet<&'static str>) {
    let parts = text.split(". ").flat_map(|part| {
        let headings = ["Gain: ", "Cost: ", "Limits of the cost: "];
        let heading = headings.into_iter().find(|it| part.starts_with(it));
        clauses(part)
            .into_iter()
            .map(move |clause| (heading, clause))
    });
    let mut said = 0;
    for (heading, clause) in parts {
        said += 1;
        let named = named(&clause, judged);
        let (low, high) = loss(named);
        let expected = match (
            high < -named.margin,
            low > named.margin,
            high <= named.margin,
        ) {
            (true, ..) => Some("Gain: "),
            (_, true, _) => Some("Cost: "),
            _ if !named.quantity.is_benefit && low > 0.0 => Some("Cost: "),
            (.., true) if !named.quantity.is_benefit => Some("Limits of the cost: "),
            _ => None,
        };
        assert_eq!(heading, expected, "{text}");
        kinds.insert(check(&clause, named));
    }
    assert_eq!(said, judged.len(), "{text}");
}

fn check_verdict(verdict: &Verdict, kinds: &mut BTreeSet<&'static str>) {
    let sentences = verdict.sentences();
    let gains =
        |it: &&Candidate| !it.is_idle && it.deciding().iter().any(|it| loss(it).1 < -it.margin);
    let gaining: Vec<&Candidate> = verdict.candidates.iter().filter(gains).collect();
    let says_none = sentences[0].starts_with("No variant");
    assert_eq!(says_none, gaining.is_empty(), "{}", sentences[0]);
    for pair in &verdict.pairs {
        check_apart(&pair.judged, kinds);
    }
    check_leaders(verdict, &sentences);
    let best = verdict.best().map(|it| it.variant);
    for candidate in &verdict.candidates {
        let is_best = Some(candidate.variant) == best;
        check_class(candidate, is_best.then_some(&*sentences[0]));
        if !candidate.is_idle {
            check_candidate(candidate, verdict, kinds);
        }
        let label = format!("`{}`", candidate.label);
        let named: Vec<&String> = sentences.iter().filter(|it| it.contains(&label)).collect();
        if is_best {
            check_decision(verdict, candidate, &sentences);
        } else if best.is_some() {
            assert_eq!(
                named.len(),
                1,
                "each other variant is named once: {sentences:?}"
            );
        }
    }
}

fn check_apart(judged: &[Judged], kinds: &mut BTreeSet<&'static str>) {
    for clause in clauses(&words::apart(judged)) {
        let before = clause.before.rsplit(". ").next().expect("a part");
        let named = named(&clause, judged);
        let is_extreme = extremes(named.quantity)
            .iter()
            .any(|it| before.contains(it));
        let before = if is_extreme {
            before.to_owned()
        } else {
            format!("not shown in {} ", named.quantity.words)
        };
        kinds.insert(check(
            &Clause {
                before: &before,
                ..clause
            },
            named,
        ));
    }
}

/// The first line says what to do, and how sure that is, and whether it depends on the threshold.
fn check_decision(verdict: &Verdict, best: &Candidate, sentences: &[String]) {
    let first = &sentences[0];
    assert!(
        first.contains("ound `yamux Active::poll` with `muxer="),
        "{first}"
    );
    assert_eq!(
        first.contains("One visit to each cell suggests"),
        verdict.is_one_visit,
        "{first}"
    );
    let depends = first.contains("the sign of the effect depends on the threshold");
    assert_eq!(depends, !best.holds.opposite.is_empty(), "{first}");
    let holds = sentences
        .iter()
        .any(|it| it.contains("for every threshold from 10 µs to 2 ms"));
    let has_beyond = best.of_metric(Metric::BeyondMsPerS).is_some();
    assert_eq!(
        holds,
        has_beyond && best.holds.range.is_some(),
        "{sentences:?}"
    );
}

/// What leads is beaten by none, and "beaten" means better in something and worse in nothing.
fn check_leaders(verdict: &Verdict, sentences: &[String]) {
    let beats = |judged: &[Judged]| {
        let any = |is: fn(&Judged) -> bool| judged.iter().any(is);
        any(|it| loss(it).1 < -it.margin) && !any(|it| loss(it).0 > it.margin)
    };
    let gaining = verdict.candidates.iter().filter(|it| it.gains()).count();
    let best = verdict.best().map(|it| it.variant);
    let mut beaten = 0;
    for (at, candidate) in verdict.candidates.iter().enumerate() {
        let is_beaten = verdict
            .pairs
            .iter()
            .any(|pair| pair.from == at && beats(&pair.judged));
        beaten += usize::from(is_beaten);
        let label = format!("`{}`", candidate_label(at));
        let another = sentences
            .iter()
            .any(|it| it.contains(&label) && it.contains("another variant is better"));
        if another {
            assert!(
                is_beaten && Some(candidate.variant) != best,
                "{sentences:?}"
            );
        }
    }
    if beaten < gaining {
        let at = verdict
            .candidates
            .iter()
            .position(|it| Some(it.variant) == best);
        let at = at.expect("one is beaten by none");
        let is_beaten = verdict
            .pairs
            .iter()
            .any(|pair| pair.from == at && beats(&pair.judged));
        assert!(!is_beaten, "{sentences:?}");
    }
}

#[test]
fn the_first_line_says_for_which_cells_it_holds() {
    const GAIN: f64 = -50.0;
    const NOTHING: f64 = 0.0;
    const HARM: f64 = 50.0;
    const BOUND: &str = "ound `yamux Active::poll` with `muxer=0`.";
    let [none, short, long] = [Regime::Without, Regime::Short, Regime::Long];
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
                "Without delay and with delays up to 10 ms: b{BOUND} With longer delays nothing is shown."
            ),
        ),
        (
            &[(none, GAIN), (short, NOTHING), (long, HARM)],
            format!(
                "Without delay: b{BOUND} With longer delays it harms. With delays up to 10 ms nothing is shown."
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
    for (in_regimes, line) in cases {
        assert_eq!(invented::of_one(in_regimes).sentences()[0], line);
    }
}

#[test]
fn the_merge_and_the_own_node_have_a_line_each() {
    let [without, long] = [Regime::Without, Regime::Long];
    let mut verdict = invented::of_one(&[(without, -40.0), (long, 0.0)]);
    let merged = invented::of_one(&[(without, 0.0), (long, 0.0)]);
    let merged = merged.candidates.into_iter().map(|it| Candidate {
        variant: 2,
        label: "muxer=0@both".to_owned(),
        ends: Ends::Both,
        ..it
    });
    verdict.candidates.extend(merged);
    let sentences = verdict.sentences();
    assert_eq!(
        sentences[0],
        "Merged upstream, at both ends: no variant is shown to gain more than the margins in any group of cells."
    );
    assert_eq!(
        sentences[1],
        "In your own node, without delay: bound `yamux Active::poll` with `muxer=0`. With delay nothing is shown."
    );
}

#[test]
fn every_sentence_says_what_its_interval_shows() {
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut kinds = BTreeSet::new();
    let mut classes = BTreeSet::new();
    let mut leaders = BTreeSet::new();
    for _ in 0..VERDICTS {
        let verdict = verdict(&mut rng);
        check_verdict(&verdict, &mut kinds);
        classes.extend(verdict.candidates.iter().map(Candidate::class));
        leaders.insert(verdict.leaders().len());
    }
    assert_eq!(
        kinds.len(),
        9,
        "not every kind of sentence was made: {kinds:?}"
    );
    assert_eq!(classes.len(), 8, "{classes:?}");
    assert!(
        leaders.contains(&0) && leaders.contains(&1) && leaders.contains(&3),
        "{leaders:?}"
    );
    assert!(classes.contains(&Class::NoSite));
}
