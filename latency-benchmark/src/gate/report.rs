//! The report of a gate, which fits on a screen.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use run_format::files::COUNTS;
use run_format::{CountKind, CountName, GateCell};

use super::args::{Allowance, Side};
use super::callgrind::Profile;
use super::cells::too_small_buffers;
use super::compare::{Change, Compared, compare};
use super::measure::{MeasuredCell, SIDES};
use crate::manifest::command;
use crate::progress::{MEASURED, SOME_FAILED};

/// The exit code where nothing rose, and some counts are not the same in every run.
const NOT_DETERMINISTIC: u8 = 3;

/// Rows of a table. The file of counts has all.
const MOST_ROWS: usize = 15;

/// Everything that the report is about.
pub(super) struct Gate<'a> {
    sides: &'a [Side; 2],
    cells: &'a [MeasuredCell],
    /// A line for each kind that was not counted.
    not_counted: Vec<String>,
    /// In which cells a count changed.
    changes: BTreeMap<CountName, Vec<(GateCell, Change)>>,
    /// Cells without a verdict, a line each.
    without: Vec<String>,
    has_failed: bool,
}

impl Gate<'_> {
    pub(super) fn new<'a>(
        sides: &'a [Side; 2],
        cells: &'a [MeasuredCell],
        allow: &[Allowance],
        not_counted: Vec<String>,
    ) -> Gate<'a> {
        let mut gate = Gate {
            sides,
            cells,
            not_counted,
            changes: BTreeMap::new(),
            without: Vec::new(),
            has_failed: false,
        };
        for measured in cells {
            let cell = measured.cell;
            match compare(measured, allow) {
                Compared::Failed(why) => {
                    gate.has_failed = true;
                    gate.without.push(format!("- failed: {cell}: {why}"));
                }
                Compared::NotDeterministic(what) => {
                    let line = format!("- not deterministic: {cell}: {what}");
                    gate.without.push(line);
                }
                Compared::Changes(changes) => changes.into_iter().for_each(|it| {
                    let of_name = gate.changes.entry(it.name.clone()).or_default();
                    of_name.push((cell, it));
                }),
            }
        }
        gate
    }

    /// The exit code.
    pub(super) fn outcome(&self) -> u8 {
        match self.without.is_empty() {
            _ if self.risen() > 0 || self.has_failed => SOME_FAILED,
            false => NOT_DETERMINISTIC,
            true => MEASURED,
        }
    }

    /// How many counts rose by more than is allowed.
    fn risen(&self) -> usize {
        let has_risen = |of: &&Vec<(_, Change)>| of.iter().any(|(_, it)| it.is_refused);
        self.changes.values().filter(has_risen).count()
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.answer());
        for (name, side) in SIDES.iter().zip(self.sides) {
            text += &format!("- {name}: {} ({})\n", side.label, side.sources);
        }
        text += &format!("- command: `{}`\n", command().join(" "));
        text += &self.table();
        text += &self.functions();
        text += &shortened("Without a verdict", &self.without);
        text += &self.missing();
        text
    }

    /// The first line.
    fn answer(&self) -> String {
        let compared = self.cells.len() - self.without.len();
        let without = match self.without.len() {
            0 => String::new(),
            count => format!("; without a verdict: {}", cells(count)),
        };
        let answer = match (self.changes.len(), self.risen()) {
            _ if compared == 0 => return format!("**No cell was compared**{without}."),
            (0, _) => "No count changed".to_owned(),
            (changed, 0) => {
                format!("Counts that changed: {changed}. None rose by more than is allowed")
            }
            (changed, risen) => format!(
                "Counts that changed: {changed}, of which {risen} rose by more than is allowed"
            ),
        };
        format!("**{answer}**, in {}{without}.", cells(compared))
    }

    /// One row for each count, with the cell in which it changed most. Those that rose too much come first, then the
    /// largest change.
    fn table(&self) -> String {
        let most = |of: &'_ Vec<(GateCell, Change)>| {
            let most = of.iter().max_by(|one, other| order(&one.1, &other.1));
            most.map(|(cell, change)| (*cell, change.clone(), of.len()))
        };
        let mut rows: Vec<_> = self.changes.values().filter_map(most).collect();
        rows.sort_by(|one, other| order(&other.1, &one.1));
        let head = "\n| count per request (▲ rose by more than is allowed) | base → head | change | cells |\n|---|---|---|---|\n";
        let shown = rows.iter().take(MOST_ROWS).map(|(cell, change, cells)| {
            format!(
                "| {}{} | {} → {} | {} | {cells}, most in {cell} |\n",
                change.name,
                if change.is_refused { " ▲" } else { "" },
                rounded(change.base),
                rounded(change.head),
                percent(change),
            )
        });
        match rows.is_empty() {
            true => String::new(),
            false => format!("{head}{}{}", shown.collect::<String>(), more(rows.len())),
        }
    }

    /// What changed most, in the cell whose instructions changed most.
    fn functions(&self) -> String {
        const MOST: usize = 8;
        let cells = self.cells.iter().filter_map(|measured| {
            let of_side = |side| {
                let runs = measured.counted().filter(move |run| run.0 == side);
                runs.filter_map(|run| run.2.profile.as_ref()).last()
            };
            let rows = differences(of_side(SIDES[0])?, of_side(SIDES[1])?);
            let largest = rows.first()?.1.abs();
            Some((measured.cell, rows, largest))
        });
        let mut changed = self.changes.keys();
        let has_changed = changed.any(|it| it.kind == CountKind::Instructions);
        let largest = cells.max_by(|one, other| one.2.total_cmp(&other.2));
        let Some((cell, rows, _)) = largest.filter(|_| has_changed) else {
            return String::new();
        };
        let lines = rows.iter().take(MOST);
        let lines = lines.map(|(name, change)| format!("- {change:+.0} `{name}`\n"));
        let lines: String = lines.collect();
        format!("\nInstructions per request by function, head less base, in {cell}:\n\n{lines}")
    }

    fn missing(&self) -> String {
        let mut lines = Vec::from_iter(too_small_buffers());
        lines.extend(self.not_counted.iter().cloned());
        match lines.is_empty() {
            true => String::new(),
            false => format!("\n{}\n", lines.join("\n")),
        }
    }
}

fn cells(count: usize) -> String {
    match count {
        1 => "1 cell".to_owned(),
        many => format!("{many} cells"),
    }
}

/// The change per request of each function, the largest first.
fn differences(base: &(Profile, u64), head: &(Profile, u64)) -> Vec<(String, f64)> {
    let per_request = |(profile, requests): &(Profile, u64), name: &String| {
        profile.get(name).copied().unwrap_or(0) as f64 / *requests as f64
    };
    let names: BTreeSet<_> = base.0.keys().chain(head.0.keys()).collect();
    let changes = names.into_iter().map(|name| {
        let change = per_request(head, name) - per_request(base, name);
        (name.clone(), change)
    });
    let mut changes: Vec<_> = changes.filter(|(_, change)| change.abs() >= 1.0).collect();
    changes.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    changes
}

/// By whether it rose too much, and by its size.
fn order(one: &Change, other: &Change) -> Ordering {
    let by_size = one.percent().abs().total_cmp(&other.percent().abs());
    one.is_refused.cmp(&other.is_refused).then(by_size)
}

fn shortened(heading: &str, lines: &[String]) -> String {
    let shown = lines[..lines.len().min(MOST_ROWS)].join("\n");
    match lines.is_empty() {
        true => String::new(),
        false => format!("\n{heading}:\n\n{shown}\n{}", more(lines.len())),
    }
}

fn more(all: usize) -> String {
    match all.saturating_sub(MOST_ROWS) {
        0 => String::new(),
        more => format!("\nand {more} more, which `{COUNTS}` has\n"),
    }
}

/// Four digits, as far as they are needed.
fn rounded(number: f64) -> String {
    let decimals = match number.abs() {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    };
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn percent(change: &Change) -> String {
    match change.base {
        0.0 => "new".to_owned(),
        _ => format!("{:+.2} %", change.percent()),
    }
}
