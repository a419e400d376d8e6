//! The report of a gate, which fits on a screen.

use std::collections::BTreeMap;

use run_format::{CountKind, CountName, GateCell};

use super::args::Side;
use super::callgrind::Profile;
use super::cells::too_small_buffers;
use super::compare::{Change, Compared};
use super::measure::{MeasuredCell, SIDES};
use crate::manifest::command;

/// Rows of a table. The file of counts has all.
const MOST_ROWS: usize = 15;

/// Everything that the report is about.
pub(super) struct Gate<'a> {
    pub(super) sides: &'a [Side; 2],
    pub(super) cells: &'a [MeasuredCell],
    pub(super) compared: Vec<Compared>,
    pub(super) lacks_callgrind: bool,
}

impl Gate<'_> {
    /// Those of all cells, with their cells.
    fn changes(&self) -> impl Iterator<Item = (&GateCell, &Change)> {
        let cells = self.cells.iter().zip(&self.compared);
        cells.flat_map(|(measured, compared)| {
            let changes = match compared {
                Compared::Changes(changes) => &changes[..],
                _ => &[],
            };
            changes.iter().map(|change| (&measured.cell, change))
        })
    }

    /// What goes wrong in some cells, a line each.
    fn without_verdict(&self) -> Vec<String> {
        let cells = self.cells.iter().zip(&self.compared);
        let lines = cells.filter_map(|(measured, compared)| match compared {
            Compared::Failed(why) => Some(format!("- failed: {}: {why}", measured.cell)),
            Compared::NotDeterministic(what) => {
                Some(format!("- not deterministic: {}: {what}", measured.cell))
            }
            Compared::Changes(_) => None,
        });
        lines.collect()
    }

    pub(super) fn has_risen(&self) -> bool {
        self.changes().any(|(_, change)| change.is_refused)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.compared
            .iter()
            .any(|it| matches!(it, Compared::Failed(_)))
    }

    pub(super) fn is_deterministic(&self) -> bool {
        !self
            .compared
            .iter()
            .any(|it| matches!(it, Compared::NotDeterministic(_)))
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.answer());
        for (name, side) in SIDES.iter().zip(self.sides) {
            text += &format!("- {name}: {} ({})\n", side.label, side.sources);
        }
        text += &format!("- command: `{}`\n", command().join(" "));
        text += &self.table();
        text += &self.functions();
        text += &shortened("Without a verdict", &self.without_verdict());
        text += &self.missing();
        text
    }

    /// The first line.
    fn answer(&self) -> String {
        let compared = self.cells.len() - self.without_verdict().len();
        let names = self.by_name();
        let risen = names
            .values()
            .filter(|cells| cells.iter().any(|(_, it)| it.is_refused));
        let without = match self.cells.len() - compared {
            0 => String::new(),
            count => format!("; without a verdict: {}", cells(count)),
        };
        let answer = match (names.len(), risen.count()) {
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

    fn by_name(&self) -> BTreeMap<&CountName, Vec<(&GateCell, &Change)>> {
        let mut names: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (cell, change) in self.changes() {
            names.entry(&change.name).or_default().push((cell, change));
        }
        names
    }

    /// One row for each count, with the cell in which it changed most. Those that rose too much come first, then the
    /// largest change.
    fn table(&self) -> String {
        let size = |change: &Change| change.percent().abs();
        let mut rows = Vec::new();
        for cells in self.by_name().into_values() {
            let refused = cells.iter().any(|(_, change)| change.is_refused);
            let most = cells.iter().max_by(|one, other| {
                let key = |it: &Change| (it.is_refused, size(it));
                key(one.1)
                    .partial_cmp(&key(other.1))
                    .expect("no size is NaN")
            });
            let (cell, change) = most.expect("a name has a cell");
            rows.push((
                refused,
                size(change),
                format!(
                    "| {}{} | {} → {} | {} | {}, most in {cell} |\n",
                    change.name,
                    if refused { " ▲" } else { "" },
                    rounded(change.base),
                    rounded(change.head),
                    percent(change),
                    cells.len(),
                ),
            ));
        }
        if rows.is_empty() {
            return String::new();
        }
        rows.sort_by(|one, other| {
            (other.0, other.1)
                .partial_cmp(&(one.0, one.1))
                .expect("no size is NaN")
        });
        let mut text = "\n| count per request (▲ rose by more than is allowed) | base → head | change | cells |\n|---|---|---|---|\n".to_owned();
        text.extend(rows.iter().take(MOST_ROWS).map(|(_, _, row)| row.as_str()));
        text + &more(rows.len(), MOST_ROWS)
    }

    /// What changed most, in the cell whose instructions changed most.
    fn functions(&self) -> String {
        const MOST: usize = 8;
        let cells = self.cells.iter().filter_map(|measured| {
            let (base, of_base) = measured.sides[0].profile.as_ref()?;
            let (head, of_head) = measured.sides[1].profile.as_ref()?;
            let rows = differences((base, *of_base), (head, *of_head));
            let largest = rows.first()?.1.abs();
            Some((measured.cell, rows, largest))
        });
        let has_changed = self
            .changes()
            .any(|(_, it)| it.name.kind == CountKind::Instructions);
        let largest = cells.max_by(|one, other| one.2.total_cmp(&other.2));
        let Some((cell, rows, _)) = largest.filter(|_| has_changed) else {
            return String::new();
        };
        let lines = rows
            .iter()
            .take(MOST)
            .map(|(name, change)| format!("- {change:+.0} `{name}`\n"));
        format!(
            "\nInstructions per request by function, head less base, in {cell}:\n\n{}",
            lines.collect::<String>()
        )
    }

    fn missing(&self) -> String {
        let mut lines = Vec::from_iter(too_small_buffers());
        if self.lacks_callgrind {
            lines.push("Instructions were not counted, since valgrind is not installed (Debian: apt-get install valgrind).".to_owned());
        }
        let sides = self.cells.iter().flat_map(|it| &it.sides);
        if let Some((kind, why)) = sides.flat_map(|it| &it.missing).next() {
            lines.push(format!("Not counted: {kind}, since {why}."));
        }
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
fn differences(
    (base, of_base): (&Profile, u64),
    (head, of_head): (&Profile, u64),
) -> Vec<(String, f64)> {
    let per_request = |profile: &Profile, of: u64, name: &String| {
        profile.get(name).copied().unwrap_or(0) as f64 / of as f64
    };
    let names = base
        .keys()
        .chain(head.keys().filter(|name| !base.contains_key(*name)));
    let changes = names.map(|name| {
        let change = per_request(head, of_head, name) - per_request(base, of_base, name);
        (name.clone(), change)
    });
    let mut changes: Vec<_> = changes.filter(|(_, change)| change.abs() >= 1.0).collect();
    changes.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    changes
}

fn shortened(heading: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let shown: Vec<&str> = lines.iter().take(MOST_ROWS).map(String::as_str).collect();
    format!(
        "\n{heading}:\n\n{}\n{}",
        shown.join("\n"),
        more(lines.len(), MOST_ROWS)
    )
}

fn more(all: usize, shown: usize) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        more => format!("\nand {more} more, which `counts.csv` has\n"),
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
