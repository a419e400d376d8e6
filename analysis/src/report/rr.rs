//! The report of a run of `rr`: what libp2p adds to the kernel's TCP.

use anyhow::Result;
use polars::prelude::{Column, DataFrame};

use super::{
    caveats,
    markdown::{Document, Links},
    method,
};
use crate::{
    grid::payload,
    load::{
        manifest::Manifest,
        variant::{Role, Variant},
    },
    measure::{
        State,
        rr::{Figure, Quantity, RrCell},
    },
    options::Options,
    stats::Interval,
    summary::{FEWEST_BLOCKS, identity::Identity},
    text::{self, count, number, rounded},
    views::Entry,
};

/// What a report is made from.
pub(crate) struct Report<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) manifest: &'a Manifest,
    pub(crate) cells: &'a [RrCell],
}

/// The baseline of all comparisons is raw TCP.
const RAW: usize = 0;

impl Report<'_> {
    fn variants(&self) -> &[Variant] {
        &self.manifest.config.variants
    }

    fn variant(&self, role: Role) -> Option<usize> {
        let mut variants = self.variants().iter();
        variants.position(|variant| variant.role == role)
    }

    fn measured(&self) -> impl Iterator<Item = &RrCell> {
        let cells = self.cells.iter();
        cells.filter(|cell| cell.state == State::Measured)
    }

    /// What it comes to, one for each payload.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let libp2p = self.variant(Role::Candidate);
        let sentence = |cell| libp2p.and_then(|libp2p| sentence(cell, libp2p));
        self.measured().filter_map(sentence).collect()
    }

    pub(crate) fn text(&self, picture: &Entry, options: &Options) -> String {
        let links = Links::new(options.link_base.as_deref());
        let mut document =
            Document::new(&format!("What libp2p adds to TCP: {}", self.identity.name));
        let sentences = self.sentences();
        if let Some((first, others)) = sentences.split_first() {
            document.paragraph(&format!("**{first}**"));
            if !others.is_empty() {
                document.list(others.iter().cloned());
            }
        }
        document.picture(&links, picture);
        self.figures(&mut document);
        document.heading("Read this first");
        document.list(self.caveats());
        document.heading("How it was measured");
        document.list(self.method());
        document.paragraph("To do it again:");
        let program = "cargo run --release -p latency-benchmark -- rr";
        document.code(&method::typed(self.manifest, "rr", program));
        document.finish()
    }

    fn figures(&self, document: &mut Document) {
        let quantities = Quantity::ALL.map(|quantity| {
            let (name, unit) = quantity.words();
            format!("{name}, {unit}")
        });
        let mut head = vec!["payload", ""];
        head.extend(quantities.iter().map(String::as_str));
        let mut rows = Vec::new();
        for cell in self.measured() {
            for (at, variant) in self.variants().iter().enumerate() {
                rows.push(row(cell, &variant.label, |quantity| {
                    level(cell.figure(quantity, at))
                }));
            }
            for (at, variant) in self.variants().iter().enumerate().skip(1) {
                let name = format!("{} / {}", variant.label, self.variants()[RAW].label);
                rows.push(row(cell, &name, |quantity| {
                    times(cell.figure(quantity, at))
                }));
            }
        }
        document.table(&head, &rows);
        document.paragraph(
            "The last two rows of a payload are ratios with 95 % intervals over blocks. That of raw TCP to itself \
             shows what chance does: where it is clearly off 1, so may be the other.",
        );
    }

    fn caveats(&self) -> Vec<String> {
        let mut caveats = vec![
            "One launch per payload: levels, and their intervals, are of that launch; another may differ by ±30 %. \
             Differences and ratios are measured inside one launch."
                .to_owned(),
            "CPU time is that of central's thread, in which the kernel also does a part of what the peer receives: \
             the link is a pair of virtual interfaces. Latency has the peer's work in it, too."
                .to_owned(),
        ];
        caveats::machine(&mut caveats, self.manifest);
        caveats::build(&mut caveats, self.manifest);
        let few = self.measured().filter(|cell| cell.blocks < FEWEST_BLOCKS);
        let few = few.count();
        if few > 0 {
            caveats.push(format!(
                "{} fewer than {FEWEST_BLOCKS} blocks: intervals are too certain there.",
                if few == 1 {
                    "1 payload has".to_owned()
                } else {
                    format!("{few} payloads have")
                }
            ));
        }
        caveats.extend(self.pairs_apart());
        for cell in self.cells {
            let reason = match &cell.state {
                State::Measured => None,
                State::Missing => Some("not measured (yet)".to_owned()),
                State::Invalid(reason) => Some(format!("invalid: {}", caveats::plain(reason))),
                State::Failed(reason) => Some(format!("failed: {}", caveats::plain(reason))),
            };
            let of_cell = |words: String| format!("{}: {words}.", cell.cell);
            caveats.extend(reason.map(of_cell));
            if cell.state == State::Measured {
                caveats.extend(cell.flaws.iter().map(|flaw| of_cell(caveats::plain(flaw))));
            }
        }
        caveats
    }

    /// Where raw TCP differs from itself by more than the blocks let expect.
    fn pairs_apart(&self) -> Vec<String> {
        let Some(twin) = self.variant(Role::Twin) else {
            return Vec::new();
        };
        let mut apart = Vec::new();
        for cell in self.measured() {
            for quantity in [Quantity::CpuUs, Quantity::LatencyP50Us] {
                let of_twin = cell.figure(quantity, twin);
                let Some((_, Interval { low, high })) = of_twin.and_then(|of| of.times()) else {
                    continue;
                };
                if low > 1.0 || high < 1.0 {
                    apart.push(format!(
                        "{}: raw TCP differs from itself in {}: {} times.",
                        cell.cell,
                        quantity.words().0,
                        times(of_twin)
                    ));
                }
            }
        }
        apart
    }

    fn method(&self) -> Vec<String> {
        let config = &self.manifest.config;
        let blocks: usize = self.measured().map(|cell| cell.blocks).sum();
        let peers = config.axes.peers.iter().max().copied().unwrap_or(0);
        vec![
            format!(
                "A transaction is a request and an answer of the payload's size and nothing else, one at a time with each \
                 of {}; RTT {} ms ({}); {} of {} in all.",
                count(peers as usize, "peer"),
                number(config.axes.rtt_ms.first().copied().unwrap_or(0.0)),
                self.identity.delay(),
                count(blocks, "block"),
                count(self.variants().len(), "slice"),
            ),
            format!(
                "libp2p ({} over {}, one stream per peer) and a TCP socket (`TCP_NODELAY`) take turns in one process, on one \
                 thread on core {}, by the same code for a transaction. While one has its turn, the other has none open.",
                config.node.security, config.node.transport, config.lab.placement.central,
            ),
            format!(
                "No poll is recorded, and nothing else runs on central's thread. Congestion control {}.",
                config.lab.congestion_control
            ),
            method::place(self.manifest),
        ]
    }

    /// A row for each payload, variant and quantity; numbers have four significant digits.
    pub(crate) fn table(&self) -> Result<DataFrame> {
        const NUMBERS: [&str; 9] = [
            "value",
            "low",
            "high",
            "change",
            "change_low",
            "change_high",
            "ratio",
            "ratio_low",
            "ratio_high",
        ];
        let (mut peers, mut rtt_ms, mut payload_bytes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut variants, mut metrics) = (Vec::new(), Vec::new());
        let mut numbers: [Vec<Option<f64>>; NUMBERS.len()] = Default::default();
        for cell in self.measured() {
            for (at, variant) in self.variants().iter().enumerate() {
                for quantity in Quantity::ALL {
                    let Some(figure) = cell.figure(quantity, at) else {
                        continue;
                    };
                    peers.push(cell.cell.peers);
                    rtt_ms.push(cell.cell.rtt_ms);
                    payload_bytes.push(i64::try_from(cell.cell.payload_bytes)?);
                    variants.push(variant.label.clone());
                    metrics.push(quantity.name());
                    for (column, number) in numbers.iter_mut().zip(row_of(&figure)) {
                        // An end that the data did not set is absent.
                        let number = number.filter(|number| number.is_finite());
                        column.push(number.map(rounded));
                    }
                }
            }
        }
        let mut columns = vec![
            Column::new("peers".into(), peers),
            Column::new("rtt_ms".into(), rtt_ms),
            Column::new("payload_bytes".into(), payload_bytes),
            Column::new("variant".into(), variants),
            Column::new("metric".into(), metrics),
        ];
        for (name, values) in NUMBERS.into_iter().zip(numbers) {
            columns.push(Column::new(name.into(), values));
        }
        Ok(DataFrame::new_infer_height(columns)?)
    }
}

/// A value, what it is more than the baseline's, and how many times that, each with its interval.
fn row_of(figure: &Figure) -> [Option<f64>; 9] {
    let three = |value: Option<f64>, interval: Option<Interval>| {
        [value, interval.map(|it| it.low), interval.map(|it| it.high)]
    };
    let (added, times) = (figure.added(), figure.times());
    let [a, b, c] = three(Some(figure.value), figure.interval);
    let [d, e, f] = three(added.map(|it| it.0), added.map(|it| it.1));
    let [g, h, i] = three(times.map(|it| it.0), times.map(|it| it.1));
    [a, b, c, d, e, f, g, h, i]
}

/// "libp2p adds …". None where the two cannot be compared.
fn sentence(cell: &RrCell, libp2p: usize) -> Option<String> {
    let latency = cell.figure(Quantity::LatencyP50Us, libp2p)?.added()?;
    let size = payload(cell.cell.payload_bytes);
    let raw = |quantity| cell.figure(quantity, RAW).map(|of| of.value);
    let cpu = cell.figure(Quantity::CpuUs, libp2p);
    let Some(((cpu, times), raw_cpu)) = cpu
        .and_then(|of| of.added().zip(of.times()))
        .zip(raw(Quantity::CpuUs))
    else {
        return Some(format!(
            "libp2p adds {} of latency (p50) to a transaction of {size} that takes {} µs by the kernel's TCP.",
            amount(latency),
            number(raw(Quantity::LatencyP50Us)?),
        ));
    };
    Some(format!(
        "libp2p adds {} of CPU time and {} of latency (p50) to a transaction of {size} that costs the kernel's TCP \
         {} µs of CPU time: {} times.",
        amount(cpu),
        amount(latency),
        number(raw_cpu),
        ratio(times)
    ))
}

/// "25.1 µs [24.8, 25.4]".
fn amount((value, Interval { low, high }): (f64, Interval)) -> String {
    text::change(value, "µs", (low, high)).replace('+', "")
}

/// "2.18 [2.15, 2.21]".
fn ratio((value, Interval { low, high }): (f64, Interval)) -> String {
    text::change(value, "", (low, high))
        .replace('+', "")
        .replace("  [", " [")
}

fn times(figure: Option<Figure>) -> String {
    figure
        .and_then(|figure| figure.times())
        .map_or_else(String::new, ratio)
}

fn level(figure: Option<Figure>) -> String {
    figure.map_or_else(String::new, |figure| number(figure.value))
}

fn row(cell: &RrCell, name: &str, field: impl Fn(Quantity) -> String) -> Vec<String> {
    let mut row = vec![payload(cell.cell.payload_bytes), name.to_owned()];
    row.extend(Quantity::ALL.map(field));
    row
}
