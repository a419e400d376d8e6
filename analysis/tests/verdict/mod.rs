//! Whatever the intervals are, every sentence, title and table field says what they show, and no two contradict each
//! other. The checks read the text and know nothing of how it is made.

mod invented;

use std::collections::BTreeSet;

use rand::{SeedableRng, rngs::StdRng};

use self::invented::{candidate_label, verdict};
use super::{Candidate, Class, Judged, Quantity, Verdict, words};
use crate::{measure::metric::Metric, report, stats::Interval};

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
    if judged.quantity.metric == Metric::RequestsPerS {
        (-high, -low)
    } else {
        (low, high)
    }
}

/// Whether a gain or a loss counts. That of the share of slow polls does not if slow polls per request say otherwise.
fn counts(judged: &Judged, all: &[Judged]) -> bool {
    let mut others = all.iter();
    let per_request = others.find(|it| it.quantity.metric == Metric::SlowPerRequest);
    let Some(other) = per_request.filter(|_| judged.quantity.metric == Metric::SlowPercent) else {
        return true;
    };
    let (low, high) = loss(other);
    if loss(judged).1 < 0.0 {
        other.value < 0.0 || low < -other.margin
    } else {
        other.value > 0.0 || high > other.margin
    }
}

fn extremes(quantity: Quantity) -> [String; 2] {
    let words = quantity.words;
    match quantity.metric {
        Metric::RequestsPerS => ["higher", "lower"],
        Metric::SlowPercent | Metric::SlowPerRequest | Metric::CotenantLatePercent => {
            ["fewer", "more"]
        }
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
    let (end, direction) = if judged.quantity.metric == Metric::RequestsPerS {
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

/// What the class promises, by the intervals.
fn check_class(candidate: &Candidate, text: &str) {
    let any = |is: fn(f64, f64, f64) -> bool| {
        let mut judged = candidate.judged.iter();
        judged.any(|it| counts(it, &candidate.judged) && is(loss(it).0, loss(it).1, it.margin))
    };
    let better = any(|_, high, margin| high < -margin);
    let worse = any(|low, _, margin| low > margin);
    let costs = candidate.judged.iter().filter(|it| !it.quantity.is_benefit);
    let costs_known = costs.clone().all(|it| loss(it).1 <= it.margin);
    let says = |words: &str| text.contains(words);
    let result = candidate.result();
    for (words, holds) in [
        ("` helps", better && !worse),
        ("trade-off", better && worse),
        ("harms", worse && !better),
        ("no gain greater than the margins", !better && !worse),
        ("may help or not", !better && !worse),
        ("is not fully known", better && !worse && !costs_known),
    ] {
        assert!(!says(words) || holds, "{words}: {text}");
    }
    assert_eq!(
        says("` helps"),
        result.starts_with("helps"),
        "{result}: {text}"
    );
    assert_eq!(
        says("is not fully known"),
        result.contains("cost"),
        "{result}: {text}"
    );
    for word in ["trade-off", "harms", "no gain greater than the margins"] {
        assert_eq!(says(word), result == word, "{result}: {text}");
    }
}

fn check_candidate(candidate: &Candidate, verdict: &Verdict, kinds: &mut BTreeSet<&'static str>) {
    let text = candidate.sentences(verdict.measured_s).join(" ");
    check_class(candidate, &text);
    let is_open = |it: &Judged| {
        let limit = if it.quantity.is_benefit {
            -it.margin
        } else {
            it.margin
        };
        let (low, high) = loss(it);
        low < limit && limit < high && low <= 0.0 && high >= 0.0
    };
    assert_eq!(
        text.contains("times as long"),
        candidate.judged.iter().any(is_open),
        "{text}"
    );
    let clauses = clauses(&text);
    assert_eq!(clauses.len(), candidate.judged.len(), "{text}");
    for clause in clauses {
        kinds.insert(check(&clause, named(&clause, &candidate.judged)));
    }
    let row = report::row(candidate, verdict, candidate.result());
    for judged in &candidate.judged {
        let change = judged.change();
        let field = row
            .iter()
            .find(|it| it.contains(&change))
            .expect("it is in the table");
        let (low, high) = loss(judged);
        let is_beyond = low > judged.margin || high < -judged.margin;
        let of_another = |it: &Judged| it.change() == change && it.quantity != judged.quantity;
        if !candidate.judged.iter().any(of_another) {
            assert_eq!(field.contains("**"), is_beyond, "{field}");
        }
        let title = judged.title("Slow polls", &candidate.label);
        assert!(
            title.contains(&change) && !title.contains("resolved"),
            "{title}"
        );
    }
}

fn check_verdict(verdict: &Verdict, kinds: &mut BTreeSet<&'static str>) {
    let sentences = verdict.sentences();
    let gaining: Vec<&Candidate> = verdict
        .candidates
        .iter()
        .filter(|it| {
            let mut judged = it.judged.iter();
            let all = &it.judged;
            !it.is_idle && judged.any(|it| counts(it, all) && loss(it).1 < -it.margin)
        })
        .collect();
    let says_none = sentences[0].starts_with("No variant");
    assert_eq!(says_none, gaining.is_empty(), "{}", sentences[0]);
    for pair in &verdict.pairs {
        for judged in [&pair.judged, &pair.back] {
            for clause in clauses(&words::apart(judged)) {
                let before = clause.before.rsplit("; ").next().expect("a part");
                let named = named(&clause, judged);
                let is_extreme = extremes(named.quantity)
                    .iter()
                    .any(|it| before.ends_with(&format!("{it} ")));
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
    }
    check_leaders(verdict, &sentences);
    for candidate in verdict.candidates.iter().filter(|it| !it.is_idle) {
        check_candidate(candidate, verdict, kinds);
        let own = candidate.sentences(verdict.measured_s).swap_remove(0);
        assert_eq!(
            sentences.iter().filter(|it| it.starts_with(&own)).count(),
            1
        );
    }
}

/// The first candidate that is named is beaten by none, and "beaten" means better in something and worse in nothing.
fn check_leaders(verdict: &Verdict, sentences: &[String]) {
    let beats = |judged: &[Judged]| {
        let any = |is: fn(&Judged) -> bool| judged.iter().any(|it| counts(it, judged) && is(it));
        any(|it| loss(it).1 < -it.margin) && !any(|it| loss(it).0 > it.margin)
    };
    for (at, candidate) in verdict.candidates.iter().enumerate() {
        let is_beaten = verdict.pairs.iter().any(|pair| {
            (pair.from == at && beats(&pair.judged)) || (pair.to == at && beats(&pair.back))
        });
        let own = candidate.sentences(verdict.measured_s).swap_remove(0);
        let place = sentences.iter().position(|it| it.starts_with(&own));
        if let Some(place) = place.filter(|_| !candidate.is_idle) {
            assert_eq!(
                sentences[place].contains("Compared with it"),
                is_beaten,
                "{}",
                sentences[place]
            );
        }
        if sentences[0].contains(&format!("`{}`", candidate_label(at))) {
            let is_first = place == Some(0) || sentences[0].starts_with("Of ");
            assert!(
                is_first && (!is_beaten || place != Some(0)),
                "{}",
                sentences[0]
            );
        }
    }
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
