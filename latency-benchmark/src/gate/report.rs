//! The report of a gate. It fits on a screen.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use run_format::files::COUNTS;
use run_format::{CountKind, CountPlace};

use super::args::{Allowance, GateProgram};
use super::callgrind::Profile;
use super::causes::{ChangedCode, changed_code};
use super::change::{Change, ComparedCell, rounded};
use super::compare::{Compared, compare};
use super::measure::CountedCell;
use super::sides::{BaseAndHead, Side};
use crate::manifest::command;
use crate::progress::{MEASURED, SOME_FAILED};

/// The exit code if no count rose and some counts differ between runs.
const NOT_DETERMINISTIC: u8 = 3;

/// The most lines of a list. The table of counts has everything.
const MOST_LINES: usize = 15;

/// The most paragraphs about code. Further code that changed is named in a line.
const MOST_PARAGRAPHS: usize = 3;

/// Everything that the report is about.
pub(super) struct GateReport<'a> {
    programs: &'a BaseAndHead<GateProgram>,
    cells: &'a [CountedCell],
    /// A line for each kind that was not counted.
    not_counted: Vec<String>,
    compared: Vec<ComparedCell>,
    /// A line for each cell without a verdict.
    without_verdict: Vec<String>,
    has_failed: bool,
}

impl<'a> GateReport<'a> {
    pub(super) fn new(
        programs: &'a BaseAndHead<GateProgram>,
        cells: &'a [CountedCell],
        allow: &[Allowance],
        not_counted: Vec<String>,
    ) -> GateReport<'a> {
        let mut report = GateReport {
            programs,
            cells,
            not_counted,
            compared: Vec::new(),
            without_verdict: Vec::new(),
            has_failed: false,
        };
        for counted in cells {
            let cell = counted.cell;
            match compare(counted, allow) {
                Compared::Failed(why) => {
                    report.has_failed = true;
                    let line = format!("- failed: {cell}: {why}");
                    report.without_verdict.push(line);
                }
                Compared::NotDeterministic(what) => {
                    let line = format!("- not deterministic: {cell}: {what}");
                    report.without_verdict.push(line);
                }
                Compared::Changes(changes) => report.compared.push(ComparedCell { cell, changes }),
            }
        }
        report
    }

    /// The exit code.
    pub(super) fn exit_code(&self) -> u8 {
        if self.refused() > 0 || self.has_failed {
            SOME_FAILED
        } else if !self.without_verdict.is_empty() {
            NOT_DETERMINISTIC
        } else {
            MEASURED
        }
    }

    /// The number of cells in which a count rose by more than is allowed.
    fn refused(&self) -> usize {
        let is_refused = |cell: &&ComparedCell| cell.changes.iter().any(|change| change.is_refused);
        self.compared.iter().filter(is_refused).count()
    }

    pub(super) fn text(&self) -> String {
        let changed = changed_code(&self.compared);
        let mut text = format!("{}\n\n", self.answer(changed.first()));
        for side in Side::BOTH {
            let program = &self.programs[side];
            text += &format!("- {side}: {} ({})\n", program.label, program.sources);
        }
        text += &format!("- command: `{}`\n", command().join(" "));
        text += &self.paragraphs(&changed);
        text += &self.functions();
        text += &shortened("Without a verdict", &self.without_verdict);
        text += &self.missing();
        text
    }

    /// The first line, which names the code that changed first.
    fn answer(&self, first: Option<&ChangedCode<'_>>) -> String {
        let without = match self.without_verdict.len() {
            0 => String::new(),
            count => format!("; without a verdict: {}", cells(count)),
        };
        if self.compared.is_empty() {
            return format!("**No cell was compared**{without}.");
        }
        let has_changed = |cell: &&ComparedCell| !cell.changes.is_empty();
        let changed = self.compared.iter().filter(has_changed).count();
        let all = cells(self.compared.len());
        let code = first.map_or(&CountPlace::Central, ChangedCode::place);
        match (changed, self.refused()) {
            (0, _) => format!("**No count changed**, in {all}{without}."),
            (changed, 0) if first.is_some_and(|code| code.is_moved) => format!(
                "**Work moved, and none of central's counts rose by more than is allowed**, in {changed} of {all}{without}."
            ),
            (changed, 0) => format!(
                "**{code} changed, and no count rose by more than is allowed**, in {changed} of {all}{without}."
            ),
            (_, refused) => format!(
                "**{code}: counts rose by more than is allowed**, in {refused} of {all}{without}."
            ),
        }
    }

    /// A paragraph for the code that changed, and one for central as a whole.
    fn paragraphs(&self, codes: &[ChangedCode<'_>]) -> String {
        let is_moved = |code: &&ChangedCode<'_>| code.is_moved;
        let (moved, changed): (Vec<_>, Vec<_>) = codes.iter().partition(is_moved);
        let mut text = String::new();
        for code in changed.iter().take(MOST_PARAGRAPHS) {
            text += &format!(
                "\n**{}** changed in {}. Per request, in {}: {}.\n",
                code.place(),
                cells(code.cells),
                code.cell,
                listed(&code.changes)
            );
        }
        let further = changed.iter().skip(MOST_PARAGRAPHS);
        let named: Vec<_> = further
            .map(|code| format!("{} ({})", code.place(), cells(code.cells)))
            .collect();
        if !named.is_empty() {
            text += &format!(
                "\nAlso changed: {}. `{COUNTS}` has the counts.\n",
                named.join(", ")
            );
        }
        if !moved.is_empty() {
            let lines = moved.iter().map(|code| {
                format!(
                    "- {}, in {}: {}\n",
                    code.place(),
                    code.cell,
                    listed(&code.changes)
                )
            });
            text += "\nWork that is done elsewhere now, while central's total is the same, per request:\n\n";
            text.extend(lines);
        }
        text + &self.central()
    }

    /// The totals of central, in the cell where they changed most.
    fn central(&self) -> String {
        let largest = self.compared.iter().filter_map(|compared| {
            let totals = compared.changes.iter().filter(|change| change.is_total());
            Some((compared, totals.max_by(|one, other| order(one, other))?))
        });
        let Some((compared, _)) = largest.max_by(|(_, one), (_, other)| order(one, other)) else {
            return String::new();
        };
        let totals = compared.changes.iter().filter(|change| change.is_total());
        format!(
            "\nCentral as a whole, per request, in {}: {}.\n",
            compared.cell,
            listed(&totals.collect::<Vec<_>>())
        )
    }

    /// The functions whose instructions changed most, in the cell whose instructions changed most.
    fn functions(&self) -> String {
        const MOST: usize = 8;
        let mut changes = self.compared.iter().flat_map(|cell| &cell.changes);
        if !changes.any(|change| change.name.kind == CountKind::Instructions) {
            return String::new();
        }
        let by_cell = self.cells.iter().filter_map(|counted| {
            let rows = differences(counted.profile(Side::Base)?, counted.profile(Side::Head)?);
            let largest = rows.first()?.1.abs();
            Some((largest, counted.cell, rows))
        });
        let Some((_, cell, rows)) = by_cell.max_by(|one, other| one.0.total_cmp(&other.0)) else {
            return String::new();
        };
        let line =
            |(name, change): &(&str, f64)| format!("- {change:+.0} `{}`\n", name.replace('`', "'"));
        let lines: String = rows.iter().take(MOST).map(line).collect();
        format!("\nInstructions per request by function, head less base, in {cell}:\n\n{lines}")
    }

    fn missing(&self) -> String {
        let mut lines = self.not_counted.clone();
        let repeated = self.cells.iter().filter(|cell| cell.was_repeated()).count();
        if repeated > 0 {
            lines.push(format!(
                "Counted more than twice, since two runs of a program differed: {}.",
                cells(repeated)
            ));
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
fn differences<'a>(base: &'a Profile, head: &'a Profile) -> Vec<(&'a str, f64)> {
    let names: BTreeSet<_> = (base.by_function.keys().chain(head.by_function.keys())).collect();
    let changes = names.into_iter().map(|name| {
        let change = head.per_request(name) - base.per_request(name);
        (name.as_str(), change)
    });
    let mut changes: Vec<_> = changes.filter(|(_, change)| change.abs() >= 1.0).collect();
    changes.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    changes
}

/// Orders changes by whether they rose too much, then by size.
fn order(one: &Change, other: &Change) -> Ordering {
    let by_size = one.percent().abs().total_cmp(&other.percent().abs());
    one.is_refused.cmp(&other.is_refused).then(by_size)
}

fn shortened(heading: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let shown = lines[..lines.len().min(MOST_LINES)].join("\n");
    let more = match lines.len().saturating_sub(MOST_LINES) {
        0 => String::new(),
        more => format!("\nand {more} more, which `{COUNTS}` has\n"),
    };
    format!("\n{heading}:\n\n{shown}\n{more}")
}

/// A list of changes such as "allocations 3 → 4 (+33.33 %) ▲". The mark ▲ says that the count rose by more than is allowed.
fn listed(changes: &[&Change]) -> String {
    let one = |change: &&Change| {
        let [base, head] = [change.base, change.head].map(rounded);
        let mark = if change.is_refused { " ▲" } else { "" };
        let (kind, by) = (change.name.kind, percent(change));
        format!("{kind} {base} → {head} ({by}){mark}")
    };
    changes.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn percent(change: &Change) -> String {
    match change.base {
        0.0 => "new".to_owned(),
        _ => format!("{:+.2} %", change.percent()),
    }
}
