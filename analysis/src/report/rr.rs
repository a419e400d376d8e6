//! The report of an `rr` run: what libp2p adds to the kernel's TCP.

use anyhow::Result;
use polars_core::prelude::DataFrame;
use run_format::{
    grid::Cell,
    manifest::Manifest,
    network::Rtt,
    variant::{Role, VariantConfig},
};

use super::{
    caveats,
    disturbed::in_words,
    markdown::{Document, or_dash},
    method, terms,
};
use crate::{
    load::{blocks::Disturbances, name_in_files},
    measure::{
        CellState,
        checks::sum,
        rr::{Quantity, RrCell, RrFigure},
    },
    options::Options,
    site::SiteNames,
    stats::Interval,
    summary::{
        identity::{Identity, of_machine},
        table::{cell_columns, numbers, texts},
    },
    text::{self, count, number},
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
    fn variants(&self) -> &[VariantConfig] {
        &self.manifest.config.variants
    }

    fn variant(&self, role: Role) -> Option<usize> {
        let mut variants = self.variants().iter();
        variants.position(|variant| variant.role == role)
    }

    fn measured(&self) -> impl Iterator<Item = &RrCell> {
        let cells = self.cells.iter();
        cells.filter(|cell| cell.state == CellState::Measured)
    }

    /// The result, one sentence for each payload.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let libp2p = self.variant(Role::Candidate);
        let sentence = |cell| libp2p.and_then(|libp2p| sentence(cell, libp2p));
        self.measured().filter_map(sentence).collect()
    }

    pub(crate) fn text(&self, picture: &Entry, options: &Options) -> String {
        let pictures = std::slice::from_ref(picture);
        let mut document = Document::new(
            &format!("What libp2p adds to TCP: {}", self.identity.name),
            &self.sentences(),
            pictures,
            &[
                terms::CENTRAL,
                terms::CONTROL,
                terms::SLICE,
                terms::INTERVAL,
            ],
            &SiteNames::of(Some((&self.manifest.tool, &self.manifest.config.node))),
            options,
        );
        self.figures(&mut document);
        document.heading("Caveats of this run");
        document.list(self.caveats());
        document.heading("How it was measured");
        document.list(self.method());
        let (command, tool) = (&self.manifest.command, &self.manifest.tool);
        let program = format!("{}rr", method::BENCHMARK);
        let seed = self.manifest.config.seed;
        document.command(&method::typed(command, tool, seed, &program));
        document.finish(pictures)
    }

    fn figures(&self, document: &mut Document) {
        let mut head = vec!["payload".to_owned(), "variant".to_owned()];
        head.extend(Quantity::ALL.map(|it| format!("{}, {}", it.words, it.unit)));
        let mut rows = Vec::new();
        for cell in self.measured() {
            let mut add = |name: String, at: usize, field: fn(RrFigure) -> Option<String>| {
                let mut row = vec![cell.cell.payload_bytes.in_words(), name];
                row.extend(
                    Quantity::ALL
                        .map(|quantity| or_dash(cell.figure(quantity, at).and_then(field))),
                );
                rows.push(row);
            };
            let variants = || self.variants().iter().enumerate();
            for (at, variant) in variants() {
                add(variant.label.clone(), at, |figure| {
                    Some(number(figure.value))
                });
            }
            let raw = &self.variants()[RAW].label;
            for (at, variant) in variants().skip(1) {
                add(format!("{} / {raw}", variant.label), at, |it| {
                    it.times().map(ratio)
                });
            }
        }
        document.table(&head.join(" | "), rows);
        document.paragraph(
            "Rows with a slash are ratios, with 95 % intervals over blocks. The ratio of raw TCP to itself shows the noise: \
             where it clearly differs from 1, the ratio of libp2p may be wrong by as much.",
        );
    }

    fn caveats(&self) -> Vec<String> {
        let mut caveats = vec![
            "Each payload has one launch. Absolute values and their intervals describe that launch; another may differ \
             by ±30 %. Differences and ratios are measured inside one launch."
                .to_owned(),
            "CPU time is that of central's thread. Latency includes the peer's work.".to_owned(),
        ];
        let Manifest {
            config,
            tool,
            machine,
            ..
        } = self.manifest;
        if config.lab.peer_hosts.is_none() {
            let link = "CPU time includes a part of what the kernel does for the receiving peer, because the link is a \
                        pair of virtual interfaces.";
            caveats.push(link.to_owned());
        }
        caveats::real_network(&mut caveats, &config.lab);
        caveats::machine(&mut caveats, &config.lab, machine);
        caveats::build(&mut caveats, tool);
        caveats::few_blocks(&mut caveats, self.measured().map(|cell| cell.blocks), "");
        let of = |of: fn(&RrCell) -> &Disturbances| sum(self.measured().map(of));
        let (set_aside, kept) = (of(|it| &it.set_aside), of(|it| &it.kept));
        let blocks = self.measured().map(|cell| cell.blocks).sum();
        let disturbed = in_words((&set_aside, &kept), (blocks, "block"), |_| true);
        caveats.extend((!disturbed.is_empty()).then(|| disturbed.trim().to_owned()));
        caveats.extend(self.noisy());
        let cells = self.cells.iter();
        let cells = cells.map(|cell| (cell.cell, &cell.state, &cell.flaws[..]));
        caveats::problems(&mut caveats, cells, "");
        caveats
    }

    /// Where raw TCP differs from its A/A control by more than the blocks explain.
    fn noisy(&self) -> Vec<String> {
        let mut noisy = Vec::new();
        let control = self.variant(Role::Control);
        for cell in self.measured() {
            for quantity in [Quantity::CPU, Quantity::LATENCY_P50] {
                let figure = control.and_then(|control| cell.figure(quantity, control));
                let times = figure.and_then(|figure| figure.times());
                let differs =
                    |(_, Interval { low, high }): &(f64, Interval)| *low > 1.0 || *high < 1.0;
                noisy.extend(times.filter(differs).map(|times| {
                    format!(
                        "{}: noise is large: the {} of raw TCP is {} times that of its second copy.",
                        cell.cell,
                        quantity.words,
                        ratio(times)
                    )
                }));
            }
        }
        noisy
    }

    fn method(&self) -> Vec<String> {
        let config = &self.manifest.config;
        let blocks: usize = self.measured().map(|cell| cell.blocks).sum();
        let peers = config.axes.peers.iter().max().copied().unwrap_or(0);
        let mut method = vec![
            format!(
                "A transaction is one request and one answer, each of the payload's size. Each peer has one transaction \
                 in progress at a time. Peers: {peers}; RTT: {} ms ({}); {} of {} in all.",
                number(config.axes.rtt_ms.first().copied().map_or(0.0, Rtt::ms)),
                self.identity.delay(),
                count(blocks, "block"),
                count(self.variants().len(), "slice"),
            ),
            format!(
                "Two paths take turns in one process, on one thread on core {}: libp2p ({} over {}, one stream per peer) \
                 and a TCP socket (`TCP_NODELAY`). The same code runs the transactions of both. Only the path that has \
                 its turn has a transaction in progress.",
                config.lab.placement.central,
                name_in_files(config.node.security),
                name_in_files(config.node.transport),
            ),
            format!(
                "No polls are recorded, and nothing else runs on central's thread. Congestion control: {}.",
                config.lab.congestion_control
            ),
            method::place(self.manifest, &of_machine(&self.manifest.machine)),
        ];
        method.extend(self.identity.real_network.clone());
        method
    }

    /// A row for each payload, variant and quantity.
    pub(crate) fn table(&self) -> Result<DataFrame> {
        let mut rows: Vec<(Cell, &str, Quantity, RrFigure)> = Vec::new();
        for cell in self.measured() {
            for (at, variant) in self.variants().iter().enumerate() {
                rows.extend(Quantity::ALL.into_iter().filter_map(|quantity| {
                    let figure = cell.figure(quantity, at)?;
                    Some((cell.cell, variant.label.as_str(), quantity, figure))
                }));
            }
        }
        let number = |name: &str, of: fn(&RrFigure) -> Option<f64>| {
            numbers(name, rows.iter().map(|(.., figure)| of(figure)))
        };
        let mut columns = cell_columns(&rows.iter().map(|row| row.0).collect::<Vec<_>>());
        columns.extend([
            texts("variant", rows.iter().map(|row| Some(row.1))),
            texts("metric", rows.iter().map(|row| Some(row.2.name))),
            number("value", |it| Some(it.value)),
            number("low", |it| Some(it.interval?.low)),
            number("high", |it| Some(it.interval?.high)),
            number("change", |it| Some(it.added()?.0)),
            number("change_low", |it| Some(it.added()?.1.low)),
            number("change_high", |it| Some(it.added()?.1.high)),
            number("ratio", |it| Some(it.times()?.0)),
            number("ratio_low", |it| Some(it.times()?.1.low)),
            number("ratio_high", |it| Some(it.times()?.1.high)),
        ]);
        Ok(DataFrame::new_infer_height(columns)?)
    }
}

/// "libp2p adds …". None where the two cannot be compared.
fn sentence(cell: &RrCell, libp2p: usize) -> Option<String> {
    let latency = cell.figure(Quantity::LATENCY_P50, libp2p)?.added()?;
    let latency = amount(latency);
    let size = cell.cell.payload_bytes.in_words();
    let raw = |quantity| Some(number(cell.figure(quantity, RAW)?.value));
    let cpu = cell.figure(Quantity::CPU, libp2p);
    let cpu = cpu.and_then(|cpu| Some((cpu.added()?, cpu.times()?, raw(Quantity::CPU)?)));
    Some(match cpu {
        None => format!(
            "libp2p adds {latency} of latency (p50) to a transaction of {size}. Over the kernel's TCP alone, the \
             transaction takes {} µs.",
            raw(Quantity::LATENCY_P50)?,
        ),
        Some((added, times, raw_cpu)) => format!(
            "libp2p adds {} of CPU time and {latency} of latency (p50) to a transaction of {size}. Over the kernel's TCP \
             alone, the transaction takes {raw_cpu} µs of CPU time; with libp2p it takes {} times as much.",
            amount(added),
            ratio(times)
        ),
    })
}

/// "25.1 µs [24.8, 25.4]".
fn amount((value, interval): (f64, Interval)) -> String {
    text::change(value, "µs", interval).replace('+', "")
}

/// "2.18 [2.15, 2.21]".
fn ratio((value, interval): (f64, Interval)) -> String {
    let text = text::change(value, "", interval);
    text.replace('+', "").replace("  [", " [")
}
