//! The slowest polls, each with what it did in turn.

use std::collections::BTreeMap;

use crate::load::explain::{cell::CellEvidence, tables::Stretch};

/// One of the slowest polls of a variant.
#[derive(Clone, Debug)]
pub(crate) struct Worst<'a> {
    pub(crate) variant: usize,
    pub(crate) rank: u64,
    pub(crate) slice: u64,
    /// The poll itself.
    pub(crate) poll: &'a Stretch,
    /// What was polled in it, at any depth, by time.
    pub(crate) inside: Vec<&'a Stretch>,
}

/// Of all variants, by variant and rank. A poll without the row of the poll itself is left out.
pub(crate) fn of(evidence: &CellEvidence) -> Vec<Worst<'_>> {
    let variants: BTreeMap<u64, usize> = evidence
        .slices
        .iter()
        .map(|slice| (slice.number, slice.variant))
        .collect();
    let mut polls: BTreeMap<(usize, u64), Vec<&Stretch>> = BTreeMap::new();
    for stretch in &evidence.timeline {
        if let Some(variant) = variants.get(&stretch.slice) {
            polls
                .entry((*variant, stretch.rank))
                .or_default()
                .push(stretch);
        }
    }
    let polls = polls.into_iter();
    polls
        .filter_map(|((variant, rank), stretches)| Worst::new(variant, rank, stretches))
        .collect()
}

impl<'a> Worst<'a> {
    fn new(variant: usize, rank: u64, mut stretches: Vec<&'a Stretch>) -> Option<Worst<'a>> {
        stretches.sort_by_key(|it| (it.start_ns, it.depth));
        let poll = stretches.iter().position(|it| it.depth == 0)?;
        let poll = stretches.remove(poll);
        Some(Worst {
            variant,
            rank,
            slice: poll.slice,
            poll,
            inside: stretches,
        })
    }

    pub(crate) fn us(&self) -> f64 {
        us(self.poll.duration_ns)
    }

    /// "1: `muxing.poll_unpin` 640 µs, `handler.poll` 120 µs; 2: …": the children of the poll itself that took
    /// a noticeable part of it, in the order in which they did, iteration by iteration.
    pub(crate) fn words(&self) -> String {
        const NOTICEABLE: f64 = 0.03;
        const MOST_ITERATIONS: usize = 4;
        let is_own = |it: &&&Stretch| it.site == self.poll.site && !it.child.is_empty();
        let own: Vec<&&Stretch> = self.inside.iter().filter(is_own).collect();
        let mut by_iteration: BTreeMap<u64, Vec<&Stretch>> = BTreeMap::new();
        for it in &own {
            by_iteration
                .entry(it.iteration.unwrap_or(0))
                .or_default()
                .push(it);
        }
        let least = NOTICEABLE * self.poll.duration_ns as f64;
        let mut told = 0;
        let mut parts: Vec<(u64, u64, String)> = Vec::new();
        for (iteration, children) in by_iteration {
            let long: Vec<&&Stretch> = children
                .iter()
                .filter(|it| it.duration_ns as f64 >= least)
                .collect();
            if long.is_empty() {
                continue;
            }
            let ns: u64 = long.iter().map(|it| it.duration_ns).sum();
            told += ns;
            let names: Vec<String> = long
                .iter()
                .map(|it| format!("`{}` {:.0} µs", it.child, us(it.duration_ns)))
                .collect();
            parts.push((iteration, ns, format!("{iteration}: {}", names.join(", "))));
        }
        let left_out = parts.len().saturating_sub(MOST_ITERATIONS);
        if left_out > 0 {
            // Those with the most time stay, in their order.
            parts.sort_by_key(|(_, ns, _)| std::cmp::Reverse(*ns));
            told -= parts
                .drain(MOST_ITERATIONS..)
                .map(|(_, ns, _)| ns)
                .sum::<u64>();
            parts.sort_by_key(|(iteration, ..)| *iteration);
        }
        let mut words: Vec<String> = parts.into_iter().map(|(.., text)| text).collect();
        let rest = self.poll.duration_ns.saturating_sub(told);
        if words.is_empty() {
            return "nothing in it took long by itself".to_owned();
        }
        if rest as f64 >= least {
            words.push(format!("the rest {:.0} µs", us(rest)));
        }
        words.join("; ")
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

/// All of them as a table.
pub(crate) fn csv(worst: &[Worst], labels: &[(usize, String)]) -> String {
    let mut text =
        "variant,rank,slice,start_ms,duration_us,outcome,iterations,timeline\n".to_owned();
    for poll in worst {
        let iterations = poll
            .poll
            .iterations
            .map_or_else(String::new, |it| it.to_string());
        let fields = [
            quoted(label(labels, poll.variant)),
            poll.rank.to_string(),
            poll.slice.to_string(),
            format!("{:.3}", poll.poll.start_ns as f64 / 1e6),
            format!("{:.3}", poll.us()),
            poll.poll.outcome.clone().unwrap_or_default(),
            iterations,
            quoted(&poll.words()),
        ];
        text += &(fields.join(",") + "\n");
    }
    text
}

pub(crate) fn label(labels: &[(usize, String)], variant: usize) -> &str {
    let found = labels.iter().find(|(of, _)| *of == variant);
    found.map_or("", |(_, label)| label)
}

/// As CSV has a text.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Site;

    fn stretch(child: &str, iteration: u64, start_ns: u64, duration_ns: u64) -> Stretch {
        Stretch {
            slice: 1,
            rank: 1,
            site: Site::Connection,
            child: child.to_owned(),
            iteration: (iteration > 0).then_some(iteration),
            depth: u64::from(iteration > 0),
            start_ns,
            duration_ns,
            outcome: None,
            iterations: None,
        }
    }

    #[test]
    fn of_many_iterations_the_longest_are_told_in_their_order() {
        let mut rows = vec![stretch("", 0, 0, 1_000_000)];
        for iteration in 1..=6 {
            let ns = 40_000 + 10_000 * (iteration % 4);
            rows.push(stretch("a", iteration, 100_000 * iteration, ns));
            rows.push(stretch(
                "short",
                iteration,
                100_000 * iteration + ns,
                29_000,
            ));
        }
        let poll = Worst::new(0, 1, rows.iter().collect()).expect("the poll is there");
        // 50, 60, 70, 40, 50 and 60 µs.
        assert_eq!(
            poll.words(),
            "1: `a` 50 µs; 2: `a` 60 µs; 3: `a` 70 µs; 6: `a` 60 µs; the rest 760 µs"
        );
    }

    #[test]
    fn a_poll_in_which_nothing_took_long_says_so() {
        let rows = [stretch("", 0, 0, 1_000_000), stretch("a", 1, 10, 20)];
        let poll = Worst::new(0, 1, rows.iter().collect()).expect("the poll is there");
        assert_eq!(poll.words(), "nothing in it took long by itself");
        assert!(Worst::new(0, 1, vec![&rows[1]]).is_none());
    }
}
