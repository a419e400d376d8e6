//! Flamegraphs as SVG. The same samples give the same bytes.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use inferno::flamegraph::color::{MultiPalette, Palette};
use inferno::flamegraph::{self, Options, TextTruncateDirection};
use run_format::config::ENOUGH_SLOW_SAMPLES;

use super::Explanation;
use super::stacks::{self, Folded};
use crate::load::CellExplained;
use crate::text::{count, number};

pub(crate) struct CellFlamegraph {
    /// The name of its file, after the cell's id.
    pub(crate) name: String,
    pub(crate) link: String,
    title: String,
    subtitle: String,
    samples: Folded,
    /// The samples of the baseline, if it shows the difference from the baseline.
    before: Option<Folded>,
}

pub(crate) fn flamegraphs(explanation: &Explanation, cell: &CellExplained) -> Vec<CellFlamegraph> {
    let site = explanation.site;
    let folded = |variant, from_ns| stacks::folded(&cell.evidence, variant, site, from_ns);
    let of_cell = cell.evidence.cell;
    let mut flamegraphs = Vec::new();
    for (at, (variant, label)) in explanation.variants.iter().enumerate() {
        let (prefix, with) = match at {
            0 => ("", String::new()),
            _ => ("budget-", format!(" with `{label}`")),
        };
        for from_ns in explanation.slow_from_ns.map(Some).into_iter().chain([None]) {
            let (of, what, polls) = match from_ns {
                Some(ns) => ("slow", "slow polls", format!("polls over {} µs", ns / 1000)),
                None => ("all", "polls", "all polls".to_owned()),
            };
            let samples = folded(*variant, from_ns);
            flamegraphs.push(CellFlamegraph {
                name: format!("{prefix}{of}.svg"),
                link: format!("{of} polls{with}"),
                title: format!("Where the time of {what} goes: {of_cell}, {label}"),
                subtitle: format!("{}, in {polls}", how_many(cell, &samples)),
                samples,
                before: None,
            });
        }
    }
    if let [(_, baseline), (variant, label)] = &explanation.variants[..] {
        let samples = folded(*variant, None);
        flamegraphs.push(CellFlamegraph {
            name: "difference.svg".to_owned(),
            link: "the difference".to_owned(),
            title: format!("What {label} changes from {baseline}: {of_cell}"),
            subtitle: format!(
                "red: a larger share of poll time than before, without callees; blue: a smaller share; widths are those \
                 of {label}, {}",
                how_many(cell, &samples)
            ),
            samples,
            before: Some(folded(0, None)),
        });
    }
    let has_samples = |folded: &Folded| folded.values().any(|samples| *samples > 0);
    flamegraphs.retain(|it| has_samples(&it.samples) && it.before.as_ref().is_none_or(has_samples));
    flamegraphs
}

fn how_many(cell: &CellExplained, samples: &Folded) -> String {
    let interval = cell.evidence.seen.stack_interval_ns;
    let interval = interval.map(|ns| number(ns as f64 / 1000.0));
    let how_often = interval.map_or_else(String::new, |us| format!(", one in {us} µs"));
    let samples: u64 = samples.values().sum();
    let too_few = match samples {
        0..ENOUGH_SLOW_SAMPLES => " (too few for a claim)",
        _ => "",
    };
    format!("{}{too_few}{how_often}", count(samples as usize, "sample"))
}

impl CellFlamegraph {
    pub(super) fn svg(&self) -> Result<Vec<u8>> {
        const LEAST_PERCENT: f64 = 0.1;
        let lines: Vec<String> = match &self.before {
            Some(before) => difference(before, &self.samples),
            None => {
                let line = |(stack, samples)| format!("{stack} {samples}");
                self.samples.iter().map(line).collect()
            }
        };
        let mut options = Options::default();
        options.title.clone_from(&self.title);
        options.subtitle = Some(self.subtitle.clone());
        options.colors = Palette::Multi(MultiPalette::Rust);
        options.deterministic = true;
        options.bgcolors = "#ffffff".parse().ok();
        options.min_width = LEAST_PERCENT;
        options.font_type = "DejaVu Sans Mono, Menlo, Consolas, monospace".to_owned();
        options.frame_height = 18;
        options.text_truncate_direction = TextTruncateDirection::Right;
        options.name_type = "Frame:".to_owned();
        let mut svg = Vec::new();
        flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
            .context("cannot draw a flamegraph")?;
        Ok(svg)
    }
}

/// Red frames have a larger share of the samples after, blue ones a smaller share. Widths are those after.
fn difference(before: &Folded, after: &Folded) -> Vec<String> {
    let (was, is): (u64, u64) = (before.values().sum(), after.values().sum());
    let scale = is as f64 / was as f64;
    let stacks: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let line = |stack: &String| {
        let of = |folded: &Folded| folded.get(stack).copied().unwrap_or(0);
        let was = (of(before) as f64 * scale).round();
        format!("{stack} {was} {}", of(after))
    };
    stacks.into_iter().map(line).collect()
}
