//! Every measured figure of README, FINDINGS and the answers is in the source of its text. That is the evidence's report and
//! comment and, for an answer, what [`SOURCES`] names. There the figure stands beside the quantity, the delay and the variant
//! that the sentence or the row of a table names. If the block names a cell, the figure may also be in a row of `summary.csv`
//! about this cell, quantity and variant.
//!
//! The test still accepts some wrong figures. A sentence that names no quantity, no delay or no variant can have the figure
//! of another one, and a sentence that names two of them the figure of either. A figure without a variant in the source is
//! accepted for every variant. Not looked at are numbers without unit, decimals and interval, and sections of FINDINGS with a
//! command and a date, which are sources themselves.

use std::collections::BTreeSet;
use std::fs;

const COMMANDS: [&str; 3] = ["./sweep.sh", "`analysis ", "`latency-benchmark "];
const MARKS: &str = "()[]|.,;:?\"+−";
const UNITS: [&str; 6] = ["%", "pp", "µs", "ms per", "per s", "requests/s"];

/// The words of texts for a quantity, its name, and the beginning of its metrics in `summary.csv`.
const QUANTITIES: [(&str, &str, &str); 14] = [
    ("time beyond", "time beyond", "beyond_"),
    ("time in long polls", "time beyond", "beyond_"),
    ("of polls beyond 50", "time beyond", "beyond_"),
    ("exceed 50", "time beyond", "beyond_"),
    ("late wake-up", "late wake-ups", "cotenant_late_"),
    ("wakes up late", "late wake-ups", "cotenant_late_"),
    ("wake-ups are late", "late wake-ups", "cotenant_late_"),
    ("µs late", "late wake-ups", "cotenant_late_"),
    ("wake-up latency", "wake-up latency", "cotenant_p"),
    ("tokio timer", "timers", "timer_"),
    ("throughput", "throughput", "requests_per_s"),
    ("cpu time", "CPU time", "pair_cpu_"),
    ("request latency", "request latency", "latency_"),
    ("slow polls", "slow polls", "slow_"),
];
const DELAYS: [(&str, &str); 7] = [
    ("without delay", "none"),
    ("no delay", "none"),
    ("rtt 0 ms", "none"),
    ("at 5 ms", "short"),
    ("5 ms, 20 cells", "short"),
    ("25 to 200 ms", "long"),
    ("25 ms", "long"),
];
const VARIANTS: [(&str, &str); 13] = [
    ("| before |", "none"),
    ("`muxer=1/deferred`", "bound"),
    ("bound in central alone", "bound"),
    ("`muxer=1/deferred@both`", "bound@both"),
    ("`muxer=1/deferred` at both ends", "bound@both"),
    ("bound at both ends", "bound@both"),
    ("one iteration a poll", "bound@both"),
    ("`flush=32kib@both`", "flush"),
    ("`flush=32kib` at both ends", "flush"),
    ("a flush after 32 kib", "flush"),
    ("`flush=32kib,muxer=1/deferred@both`", "both"),
    ("bound and `flush=32kib` at both ends", "both"),
    ("both changes", "both"),
];

/// The further sources of README, of answers and of FINDINGS: sections of FINDINGS and its details, by the beginning of their
/// heading, and files.
const SOURCES: [(&str, &str); 23] = [
    ("README.md", "Noise has to keep"),
    ("FINDINGS.md", "Noise has to keep"),
    ("FINDINGS.md", "Earlier sweeps"),
    ("FINDINGS.md", "findings/quic.md"),
    ("FINDINGS.md", "findings/others.md"),
    ("FINDINGS.md", "findings/yamux.md"),
    ("h2-903.md", "Several DATA frames"),
    ("net-tools-28.md", "Every send of iroh allocates"),
    ("net-tools-28.md", "evidence/iroh/report.md"),
    ("noq-636.md", "More segments save"),
    ("noq-636.md", "Which bounds of quinn"),
    ("noq-645.md", "More segments save"),
    ("noq-645.md", "Which bounds of quinn"),
    ("quinn-2189.md", "More segments save"),
    ("rust-libp2p-5387.md", "Over longer delays"),
    ("rust-libp2p-5387.md", "The round trip that yamux"),
    ("rust-libp2p-6438.md", "Noise has to keep"),
    ("rust-libp2p-6438.md", "The same as programs"),
    ("rust-libp2p-6488.md", "What remains in slow polls"),
    ("rust-libp2p-6513.md", "Does rust-libp2p#6513 change"),
    ("rust-yamux-149.md", "An immediate wake"),
    ("rust-yamux-227.md", "Loads that hurt"),
    ("tokio-8343.md", "A cooperative budget"),
];

/// The metrics of the columns named `here`, which are about `Connection::poll` without a budget.
const HERE: [&str; 3] = ["slow_percent", "slow_per_request", "polls_per_request"];

/// A number, and what the text around it says about it.
struct Figure {
    number: String,
    /// The ends of the interval, sorted and without signs, since a text may say by how much something falls.
    bounds: Option<BTreeSet<String>>,
    /// The quantity that is named last before the number in its sentence. Empty if there is none.
    quantity: &'static str,
    delays: BTreeSet<&'static str>,
    variants: BTreeSet<&'static str>,
    /// Whether it has a unit, decimals or an interval.
    is_measured: bool,
    block: String,
}

fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap()
}

/// The paragraphs, items of lists and cells of tables. A cell comes after the first field of the table, the first field of its
/// row and the head of its column. A column of changes has the name of the variant in the column before.
fn blocks(text: &str) -> Vec<String> {
    let text = text.replace("**", "");
    let prose: String = text.split("```").step_by(2).collect();
    let mut blocks = vec![String::new()];
    let mut head: Vec<&str> = Vec::new();
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
            for at in 1..head.len() {
                if head[at].trim() == "change" {
                    head[at] = head[at - 1];
                }
            }
        } else {
            for (name, cell) in head.iter().zip(&cells) {
                blocks.push(format!("{} | {} |{name}| {cell}", head[0], cells[0]));
            }
        }
    }
    blocks
}

/// The names whose words are in a text.
fn named(text: &str, list: &[(&str, &'static str)]) -> BTreeSet<&'static str> {
    let found = list.iter().filter(|(words, _)| text.contains(words));
    found.map(|(_, name)| *name).collect()
}

fn figures(block: &str) -> Vec<Figure> {
    let bare = |word: &str| word.trim_matches(|mark| MARKS.contains(mark)).to_owned();
    let words: Vec<&str> = block.split_whitespace().collect();
    let mut figures = Vec::new();
    for sentence in words.split_inclusive(|word| word.ends_with(['.', ':', ';'])) {
        let text = sentence.join(" ").to_lowercase();
        for (place, word) in sentence.iter().enumerate() {
            let (before, after) = (sentence[..place].join(" "), sentence[place + 1..].join(" "));
            let is_code = before.matches('`').count() % 2 == 1 || before.ends_with("Rust");
            let is_bound = word.starts_with('[') || before.rfind('[') > before.rfind(']');
            let number = bare(word);
            if is_code || is_bound || !number.parse::<f64>().is_ok_and(f64::is_finite) {
                continue;
            }
            let (unit, interval) = after.split_once('[').unwrap_or_default();
            let bounds = interval.split(']').next().unwrap().split(' ').map(bare);
            let bounds = Some(bounds.collect::<BTreeSet<_>>());
            let bounds = bounds.filter(|ends| unit.len() < "ms per s  ".len() && ends.len() == 2);
            let has_unit = UNITS.iter().any(|unit| after.starts_with(unit));
            let before = before.to_lowercase();
            let quantities = QUANTITIES
                .iter()
                .filter_map(|(words, name, _)| Some((before.rfind(words)?, *name)));
            figures.push(Figure {
                is_measured: has_unit || bounds.is_some() || number.contains('.'),
                number,
                bounds,
                quantity: quantities.max().map_or("", |(_, name)| name),
                delays: named(&text, &DELAYS),
                variants: named(&text, &VARIANTS),
                block: block.to_owned(),
            });
        }
    }
    figures
}

fn figures_of(text: &str) -> Vec<Figure> {
    let blocks = blocks(text);
    blocks.iter().flat_map(|block| figures(block)).collect()
}

/// Whether a text and its source can be about the same. What names nothing can be about anything.
fn agree(text: &BTreeSet<&str>, source: &BTreeSet<&str>) -> bool {
    text.is_empty() || source.is_empty() || !text.is_disjoint(source)
}

impl Figure {
    fn is_in(&self, source: &Figure) -> bool {
        let is_without = source.quantity.is_empty() && self.bounds.is_none();
        let is_of_quantity = self.quantity.is_empty() || self.quantity == source.quantity;
        self.number == source.number
            && (self.bounds.is_none() || self.bounds == source.bounds)
            && (is_of_quantity || is_without)
            && agree(&self.delays, &source.delays)
            && agree(&self.variants, &source.variants)
    }

    /// Whether it is the value or the change of a row of `summary.csv`.
    fn is_of(&self, row: &csv::StringRecord) -> bool {
        let variants = named(&format!("`{}`", row[3].to_lowercase()), &VARIANTS);
        let mut quantities = QUANTITIES.iter();
        let is_of_quantity = quantities
            .any(|(_, name, metrics)| *name == self.quantity && row[5].starts_with(metrics));
        [6, 9]
            .into_iter()
            .any(|at| is_written(&row[at], &self.number))
            && (is_of_quantity || self.quantity.is_empty())
            && agree(&self.variants, &variants)
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

/// Whether the value of a table is this number of a text, which may be rounded and lack its sign.
fn is_written(value: &str, written: &str) -> bool {
    let decimals = written.split_once('.').map_or(0, |(_, after)| after.len());
    let half = 0.5001 / 10_f64.powf(decimals as f64);
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN).abs();
    (number(value) - number(written)).abs() <= half
}

#[test]
fn measured_figures_are_in_the_source_of_their_text() {
    let findings = [
        "FINDINGS.md",
        "findings/others.md",
        "findings/published.md",
        "findings/quic.md",
        "findings/yamux.md",
    ];
    let findings = findings.map(read).join("\n").replace("\n### ", "\n## ");
    let (sections, own): (Vec<&str>, Vec<&str>) = findings
        .split("\n## ")
        .partition(|section| is_source(section));
    let source = |name: &str| match name.ends_with(".md") {
        true => read(name),
        false => {
            let found = sections.iter().find(|section| section.starts_with(name));
            (*found.expect(name)).to_owned()
        }
    };
    let mut texts = vec![("README.md".to_owned(), read("../README.md"))];
    texts.extend(
        own.iter()
            .map(|section| ("FINDINGS.md".to_owned(), (*section).to_owned())),
    );
    for entry in fs::read_dir("answers").unwrap() {
        let (name, path) = entry
            .map(|entry| (entry.file_name(), entry.path()))
            .unwrap();
        // The quotation is the thread's question, and its numbers are the thread's.
        let answer = fs::read_to_string(path).unwrap().replace("\n>", "\n#");
        texts.push((name.into_string().unwrap(), answer));
    }
    let summary = summary();
    for (file, text) in texts {
        let further = SOURCES.iter().filter(|(answer, _)| *answer == file);
        let mut sources: Vec<String> = further.map(|(_, name)| source(name)).collect();
        sources.extend(["evidence/report.md", "evidence/comment.md"].map(read));
        let known: Vec<Figure> = sources
            .iter()
            .flat_map(|source| figures_of(source))
            .collect();
        for figure in figures_of(&text).iter().filter(|figure| figure.is_measured) {
            let cell = cell(&figure.block).unwrap_or_default();
            let mut rows = summary.iter().filter(|row| row.iter().take(3).eq(&cell));
            let is_known = known.iter().any(|source| figure.is_in(source));
            let Figure {
                number,
                quantity,
                block,
                ..
            } = figure;
            assert!(
                is_known || rows.any(|row| figure.is_of(row)),
                "{file}: {quantity} {number}: {block}"
            );
        }
    }
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
    let page = read("evidence/index.html");
    let (_, said) = page.split_once("<p class=\"decision\">").unwrap();
    let said = said.replace("<code>", "`").replace("</code>", "`");
    assert!(said.contains(verdict), "the page does not say: {verdict}");
}

#[test]
fn columns_named_here_have_the_evidences_values_without_a_budget() {
    let (published, summary) = (read("findings/published.md"), summary());
    let lines = published
        .lines()
        .skip_while(|line| !line.contains("| here"));
    let rows = lines.take_while(|line| line.starts_with('|'));
    let cell_rows: Vec<_> = rows.filter_map(|row| Some((row, cell(row)?))).collect();
    assert!(!cell_rows.is_empty());
    for (text, [peers, rtt, payload]) in &cell_rows {
        for (written, metric) in text.split(" | ").skip(2).step_by(2).zip(HERE) {
            let key = [peers, rtt, payload, "none", "connection", metric];
            let row = summary.iter().find(|row| row.iter().take(6).eq(key));
            let is_it = is_written(&row.expect(metric)[6], written.trim_end_matches(" |"));
            assert!(is_it, "{written} in {text}: {row:?}");
        }
    }
}
