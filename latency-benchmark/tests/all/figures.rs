//! Measured figures of README, FINDINGS and the answers are in the committed evidence, beside the same quantity: the one that
//! is named last before the figure, in its sentence or its row of a table. A section of FINDINGS that has its command and date is
//! a source, too. Where a text names a cell, the figure may be of the cell's rows in summary.csv. What is not seen: whether the
//! variant and the delay are those of the text, numbers without a unit, and what a section with a command says itself.

use std::collections::BTreeSet;
use std::fs;

const COMMANDS: [&str; 3] = ["./sweep.sh", "`analysis ", "`latency-benchmark "];
const MARKS: &str = "()[]|.,;:?\"+−";
const UNITS: [&str; 5] = ["%", "pp", "µs", "ms per", "per s"];
/// What texts call a quantity, and what it is.
const QUANTITIES: [(&str, &str); 11] = [
    ("time beyond", "time beyond"),
    ("time in long polls", "time beyond"),
    ("of polls beyond 50", "time beyond"),
    ("exceed 50", "time beyond"),
    ("late wake-up", "late wake-ups"),
    ("wakes up late", "late wake-ups"),
    ("wake-up latency", "wake-up latency"),
    ("throughput", "throughput"),
    ("cpu time", "CPU time"),
    ("request latency", "request latency"),
    ("slow polls", "slow polls"),
];
/// What the columns named `here` have, of `Connection::poll` without a budget.
const HERE: [&str; 3] = ["slow_percent", "slow_per_request", "polls_per_request"];

/// A quantity, which is empty where none is named, and a number with its interval.
type Figure = (&'static str, String);

fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap()
}

/// Its paragraphs, items of lists and cells of tables, without code. A cell comes after the first one of its row and the head of
/// its column.
fn blocks(text: &str) -> Vec<String> {
    let text = text.replace("**", "");
    let prose: String = text.split("```").step_by(2).collect();
    let mut blocks = vec![String::new()];
    let mut head = Vec::new();
    for line in prose.lines() {
        let cells: Vec<&str> = line.split('|').skip(1).collect();
        if !line.starts_with('|') {
            head.clear();
            if line.is_empty() || line.starts_with("- ") {
                blocks.push(String::new());
            }
            let text = if line.starts_with('#') { "" } else { line };
            blocks.last_mut().unwrap().extend([text, " "]);
        } else if head.is_empty() {
            head = cells;
        } else {
            let columns = head.iter().zip(&cells);
            blocks.extend(columns.map(|(head, cell)| format!("{} | {head} | {cell}", cells[0])));
        }
    }
    blocks
}

/// The figures of a block, each with whether it has a unit, decimals or an interval. The text may say by how much something
/// falls, so signs are left out, and the bounds of an interval are in the order of their texts.
fn figures(block: &str) -> Vec<(Figure, bool)> {
    let bare = |word: &str| word.trim_matches(|mark| MARKS.contains(mark)).to_owned();
    let text: String = block.split('`').step_by(2).collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let (mut figures, mut sentence) = (Vec::new(), String::new());
    for (place, word) in words.iter().enumerate() {
        sentence += &format!("{} ", word.to_lowercase());
        let place_of = |name: &str| sentence.rfind(name).map_or(0, |at| at + 1);
        let last = QUANTITIES
            .map(|it| (place_of(it.0), it.1))
            .into_iter()
            .max();
        let (_, quantity) = last.filter(|(at, _)| *at > 0).unwrap_or_default();
        let (mut figure, rest) = (bare(word), words[place + 1..].join(" "));
        if figure.parse::<f64>().is_ok_and(f64::is_finite) && !sentence.contains("rust 1.") {
            let has_unit = UNITS.iter().any(|unit| rest.starts_with(unit));
            let mut is_measured = has_unit || figure.contains('.');
            let (unit, interval) = rest.split_once('[').unwrap_or_default();
            let bounds = interval.split(']').next().unwrap().split(' ').map(bare);
            let bounds: BTreeSet<String> = bounds.collect();
            if unit.len() < "ms per s  ".len() && bounds.len() == 2 {
                figure += &format!(" in {bounds:?}");
                is_measured = true;
            }
            figures.push(((quantity, figure), is_measured));
        }
        if word.ends_with(['.', ':', ';']) {
            sentence.clear();
        }
    }
    figures
}

fn add_figures(text: &str, sources: &mut BTreeSet<Figure>) {
    let figures = blocks(text).into_iter().flat_map(|block| figures(&block));
    for ((quantity, figure), _) in figures {
        sources.insert((quantity, figure.split(' ').next().unwrap().to_owned()));
        sources.insert((quantity, figure));
    }
}

/// Whether a section has its command, and a date such as 2026-11-28.
fn is_source(section: &str) -> bool {
    let mut words = section.split(|letter: char| !letter.is_ascii_digit() && letter != '-');
    let has_date = words.any(|word| word.len() == 10 && word.split('-').count() == 3);
    has_date && COMMANDS.iter().any(|command| section.contains(command))
}

/// The cell that a text names as `N=5, RTT 0 ms, 256 KiB`.
fn cell(text: &str) -> Option<[String; 3]> {
    let (peers, text) = text.split_once("N=")?.1.split_once(", RTT ")?;
    let (rtt, text) = text.split_once(" ms, ")?;
    let kib: u32 = text.split_once(" KiB")?.0.parse().ok()?;
    Some([peers.into(), format!("{rtt}.0"), (1024 * kib).to_string()])
}

fn summary() -> Vec<csv::StringRecord> {
    let mut table = csv::Reader::from_path("evidence/summary.csv").unwrap();
    table.records().map(Result::unwrap).collect()
}

/// Whether the row's value is this number, rounded as it is written.
fn is_written(row: &csv::StringRecord, written: &str) -> bool {
    let decimals = written.split_once('.').map_or(0, |(_, after)| after.len());
    let half = 0.5001 / 10_f64.powf(decimals as f64);
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    (number(&row[6]) - number(written)).abs() <= half
}

#[test]
fn measured_figures_are_in_the_evidence_beside_their_quantity() {
    let (summary, mut sources) = (summary(), BTreeSet::new());
    for report in ["report.md", "comment.md", "iroh/report.md"] {
        add_figures(&read(&format!("evidence/{report}")), &mut sources);
    }
    let mut texts = vec![read("../README.md")];
    let findings = read("FINDINGS.md").replace("\n### ", "\n## ");
    for section in findings.split("\n## ") {
        if is_source(section) {
            add_figures(section, &mut sources);
        } else {
            texts.push(section.to_owned());
        }
    }
    for answer in fs::read_dir("answers").unwrap() {
        // The quotation is the thread's question, and its numbers are the thread's.
        let answer = fs::read_to_string(answer.unwrap().path()).unwrap();
        texts.push(answer.replace("\n>", "\n#"));
    }
    let is_known = |(quantity, figure): &Figure, block: &str| {
        let is_beside = |it: &str| it == *quantity || it.is_empty() && !figure.contains(' ');
        let mut sources = sources.iter().filter(|source| source.1 == *figure);
        let (cell, is_free) = (cell(block).unwrap_or_default(), quantity.is_empty());
        let mut rows = summary.iter().filter(|row| row.iter().take(3).eq(&cell));
        sources.any(|it| is_free || is_beside(it.0)) || rows.any(|row| is_written(row, figure))
    };
    let mut missing = Vec::new();
    for block in texts.iter().flat_map(|text| blocks(text)) {
        let mut figures = figures(&block);
        figures.retain(|(figure, is_measured)| *is_measured && !is_known(figure, &block));
        missing.extend(
            figures
                .into_iter()
                .map(|(figure, _)| (figure, block.clone())),
        );
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_text_says_what_the_verdict_says_first() {
    let report = read("evidence/report.md");
    let (_, verdict) = report.split_once("**Verdict.** ").unwrap();
    let verdict = verdict.lines().next().unwrap();
    assert!(read("evidence/comment.md").starts_with(&format!("- {verdict}\n")));
    let answers = "answers/rust-libp2p-6438.md answers/rust-yamux-149.md".split(' ');
    for file in answers.chain(["../README.md", "FINDINGS.md"]) {
        let text = read(file).replace("\n> ", " ").replace('\n', " ");
        assert!(text.contains(verdict), "{file} does not say: {verdict}");
    }
    let page = read("evidence/index.html").replace("<code>", "`");
    let page = page.replace("</code>", "`");
    let said = page.contains(verdict.trim_end_matches('.'));
    assert!(said, "the page does not say: {verdict}");
}

#[test]
fn columns_named_here_have_the_evidences_values_without_a_budget() {
    let (findings, summary) = (read("FINDINGS.md"), summary());
    let lines = findings.lines().skip_while(|line| !line.contains("| here"));
    let rows = lines.take_while(|line| line.starts_with('|'));
    let of_cells: Vec<_> = rows.filter_map(|row| Some((row, cell(row)?))).collect();
    assert!(!of_cells.is_empty());
    for (text, [peers, rtt, payload]) in &of_cells {
        for (written, metric) in text.split(" | ").skip(2).step_by(2).zip(HERE) {
            let key = [peers, rtt, payload, "none", "connection", metric];
            let row = summary.iter().find(|row| row.iter().take(6).eq(key));
            let is_it = is_written(row.expect(metric), written.trim_end_matches(" |"));
            assert!(is_it, "{written} in {text}: {row:?}");
        }
    }
}
