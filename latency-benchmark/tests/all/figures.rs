//! Every number in README, FINDINGS and the answers is in the committed evidence, or in a section with its command and date.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const REPORTS: [&str; 3] = ["report.md", "comment.md", "iroh/report.md"];
const COMMANDS: [&str; 3] = ["./sweep.sh", "`analysis ", "`latency-benchmark "];
const DATE: &str = "2026-";
/// What the columns named `here` have, of `Connection::poll` without a budget.
const HERE: [&str; 3] = ["slow_percent", "slow_per_request", "polls_per_request"];

/// The values of a `summary.csv` by cell: variant, site and metric, and the value.
type Cells = BTreeMap<[String; 3], Vec<([String; 3], f64)>>;

/// The figures of reports, and the values of each cell.
struct Evidence {
    figures: BTreeSet<String>,
    cells: Cells,
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap()
}

fn answers() -> Vec<String> {
    let files = fs::read_dir(path("answers")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.map(|name| format!("answers/{name}")).collect()
}

/// Its paragraphs and rows of tables, without code and headings.
fn blocks(text: &str) -> Vec<String> {
    let prose: Vec<&str> = text.split("```").step_by(2).collect();
    let prose = prose.join("\n\n").replace("\n|", "\n\n|");
    let block = |lines: &str| -> String {
        let lines = lines.lines().filter(|line| !line.starts_with('#'));
        lines.flat_map(|line| [line, " "]).collect()
    };
    prose.split("\n\n").map(block).collect()
}

/// The words of a block outside of code. An interval is one word.
fn words(block: &str) -> Vec<String> {
    let text: String = block.replace("**", "").split('`').step_by(2).collect();
    let mut parts = text.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| match part.split_once(']') {
        Some((inside, after)) => format!("{text} [{}] {after}", inside.replace(", ", ";")),
        None => text + part,
    });
    text.split_whitespace().map(str::to_owned).collect()
}

/// The numbers of a block that are not parts of names, versions, dates or fractions. A number with an interval is one figure.
fn figures(block: &str) -> Vec<String> {
    let number = |word: &str| {
        let number = unsigned(word).parse::<f64>();
        number.is_ok_and(f64::is_finite).then(|| word.to_owned())
    };
    let interval = |word: &str| {
        let (low, high) = word.strip_prefix('[')?.strip_suffix(']')?.split_once(';')?;
        // The text may say by how much something falls, so signs and order differ.
        let mut bounds = [number(low)?, number(high)?].map(|it| unsigned(&it));
        bounds.sort();
        Some(bounds.join(" to "))
    };
    let mut figures = Vec::new();
    for word in words(block) {
        let word = word.trim_matches(|c: char| "()|.,;:?\"".contains(c));
        match interval(word) {
            Some(bounds) => {
                let value: String = figures.pop().unwrap_or_default();
                figures.push(format!("{value} in {bounds}"));
            }
            None => figures.extend(number(word)),
        }
    }
    figures
}

fn unsigned(figure: &str) -> String {
    figure.trim_start_matches(['+', '−']).to_owned()
}

fn known(texts: &[String]) -> BTreeSet<String> {
    let blocks = texts.iter().flat_map(|text| blocks(text));
    let figures = blocks.flat_map(|block| figures(&block));
    let number = |figure: &str| figure.split(' ').next().unwrap_or_default().to_owned();
    let with_number = figures.flat_map(|it| [number(&it), it]);
    with_number.flat_map(|it| [unsigned(&it), it]).collect()
}

/// The cell that a text names as `N=5, RTT 0 ms, 256 KiB`.
fn cell(text: &str) -> Option<[String; 3]> {
    let (peers, text) = text.split_once("N=")?.1.split_once(", RTT ")?;
    let (rtt, text) = text.split_once(" ms, ")?;
    let kib: u32 = text.split_once(" KiB")?.0.parse().ok()?;
    Some([peers.into(), format!("{rtt}.0"), (1024 * kib).to_string()])
}

fn cells(summary: &str) -> Cells {
    let mut cells = Cells::new();
    let mut table = csv::Reader::from_path(path(summary)).unwrap();
    for row in table.records().map(Result::unwrap) {
        let texts = |columns: [usize; 3]| columns.map(|column| row[column].to_owned());
        let value = row[6].parse().map(|value| (texts([3, 4, 5]), value));
        cells.entry(texts([0, 1, 2])).or_default().extend(value);
    }
    cells
}

/// Whether the value is this number, rounded as it is written.
fn is_written(value: f64, written: &str) -> bool {
    let decimals = written.split_once('.').map_or(0, |(_, after)| after.len());
    let half = 0.5001 / 10_f64.powf(decimals as f64);
    let number = written.parse::<f64>();
    number.is_ok_and(|number| (value - number).abs() <= half)
}

impl Evidence {
    fn load(folder: &str, reports: &[&str]) -> Self {
        let report = |name: &&str| read(&format!("{folder}/{name}"));
        Self {
            figures: known(&reports.iter().map(report).collect::<Vec<_>>()),
            cells: cells(&format!("{folder}/summary.csv")),
        }
    }

    fn has(&self, figure: &str, block: &str) -> bool {
        let values = cell(block).and_then(|cell| self.cells.get(&cell));
        let mut values = values.into_iter().flatten();
        self.figures.contains(figure) || values.any(|it| is_written(it.1, figure))
    }
}

#[test]
fn every_number_is_in_the_evidence_or_has_its_command_and_date() {
    let has_source = |section: &String| {
        section.contains(DATE) && COMMANDS.iter().any(|command| section.contains(command))
    };
    let findings = read("FINDINGS.md").replace("\n### ", "\n## ");
    let sections = findings.split("\n## ").map(str::to_owned);
    let (measured, mut others): (Vec<String>, Vec<String>) = sections.partition(has_source);
    let mut evidence = Evidence::load("evidence", &REPORTS);
    evidence.figures.extend(known(&measured));
    // README names the version of Rust.
    evidence.figures.extend(known(&[read("../Cargo.toml")]));
    others.push(read("../README.md"));
    // The quotation is the thread's question, and its numbers are the thread's.
    let answer = |file: String| read(&file).replace("\n>", "\n#");
    others.extend(answers().into_iter().map(answer));
    let mut unknown = Vec::new();
    for block in others.iter().flat_map(|text| blocks(text)) {
        let figures = figures(&block).into_iter();
        let strange = figures.filter(|it| !evidence.has(it, &block));
        unknown.extend(strange.map(|figure| format!("{figure} in {block}")));
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn every_text_says_what_the_verdict_says_first() {
    let line = |file: &str, before: &str| {
        let text = read(file);
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(before));
        lines
            .next()
            .unwrap_or_else(|| panic!("{file} has no verdict"))
            .to_owned()
    };
    let verdict = line("evidence/report.md", "**Verdict.** ");
    assert_eq!(line("evidence/comment.md", "- "), verdict);
    for file in [
        "../README.md",
        "FINDINGS.md",
        "answers/rust-libp2p-6438.md",
        "answers/rust-yamux-149.md",
    ] {
        let text = read(file).replace("\n> ", " ").replace('\n', " ");
        assert!(text.contains(&verdict), "{file} does not say: {verdict}");
    }
    let page = read("evidence/index.html");
    let said = page
        .split("<div class=\"verdict\">")
        .nth(1)
        .unwrap_or_default();
    let said = said.replace("<code>", "`").replace("</code>", "`");
    assert!(said.contains(&verdict), "the page does not say: {verdict}");
}

#[test]
fn columns_named_here_have_the_evidences_values_without_a_budget() {
    let (findings, cells) = (read("FINDINGS.md"), cells("evidence/summary.csv"));
    let lines = findings.lines().skip_while(|line| !line.contains("| here"));
    let rows = lines.take_while(|line| line.starts_with('|'));
    let of_cells: Vec<_> = rows.filter_map(|row| Some((row, cell(row)?))).collect();
    assert!(!of_cells.is_empty());
    for (row, cell) in of_cells {
        for (written, metric) in row.split(" | ").skip(2).step_by(2).zip(HERE) {
            let key = ["none", "connection", metric];
            let value = cells[&cell].iter().find(|it| it.0 == key).expect(metric).1;
            let is_it = is_written(value, written.trim_end_matches(" |"));
            assert!(is_it, "{written} in {row}: {value}");
        }
    }
}

#[test]
fn texts_are_short_and_every_answer_has_a_command_and_is_listed() {
    let is_short = |file: &str, most: usize| {
        let count = read(file).split_whitespace().count();
        assert!(count <= most, "{file} has {count} words");
    };
    is_short("../README.md", 1300);
    let index = read("answers/README.md");
    for file in answers() {
        is_short(&file, 250);
        let name = file.trim_start_matches("answers/");
        let is_answer = index.contains(&format!("]({name})")) && read(&file).contains("./sweep.sh");
        assert!(is_answer || name == "README.md", "{file}");
    }
}

/// `BLESS=1 cargo test -p latency-benchmark --test all expected_precision` writes the file.
#[test]
fn the_expected_precision_is_that_of_the_evidence() {
    const QUANTITIES: [(&str, &str, &str); 4] = [
        ("beyond_ms_per_s", "connection", "time beyond the threshold"),
        ("requests_per_s", "", "throughput"),
        ("cpu_us_per_request", "", "CPU time per request"),
        ("cotenant_p90_us", "", "co-tenant's p90"),
    ];
    let mut table = csv::Reader::from_path(path("evidence/summary.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let baseline = &rows[0][3];
    let mut text = "quantity,rtt_ms,half_width_percent\n".to_owned();
    for (metric, site, quantity) in QUANTITIES {
        let mut value = f64::NAN;
        let mut of_rtt: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for row in rows
            .iter()
            .filter(|row| (&row[5], &row[4]) == (metric, site))
        {
            if &row[3] == baseline {
                value = row[6].parse().unwrap_or(f64::NAN);
            }
            if let (Ok(low), Ok(high)) = (row[10].parse::<f64>(), row[11].parse::<f64>()) {
                let width = 100.0 * (high - low) / 2.0 / value;
                let widths = of_rtt.entry(row[1].to_owned()).or_default();
                widths.extend(width.is_finite().then_some(width));
            }
        }
        for (rtt_ms, mut widths) in of_rtt {
            widths.sort_by(f64::total_cmp);
            if let Some(median) = widths.get(widths.len() / 2) {
                text += &format!("{quantity},{rtt_ms},{median:.2}\n");
            }
        }
    }
    let file = path("src/sweep/expected_precision.csv");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap_or_default(), text);
}
