//! Draws flamegraphs as SVG. The same samples give the same bytes.

use anyhow::{Context, Result};
use inferno::differential;
use inferno::flamegraph::color::{MultiPalette, Palette};
use inferno::flamegraph::{self, Options, TextTruncateDirection};
use run_format::ENOUGH_SLOW_SAMPLES;

use super::stacks::Folded;
use super::{ExplainedVariant, Explanation, VariantKey};
use crate::load::{CellEvidence, CellExplained};
use crate::text::{count, number};
use crate::views::slug;

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
    let cell_name = cell.evidence().cell;
    let baseline = &explanation.variants[0];
    let mut flamegraphs = Vec::new();
    for ExplainedVariant { key, label } in &explanation.variants {
        let Some(evidence) = cell.launches.get(&key.subject) else {
            continue;
        };
        let is_baseline = *key == VariantKey::BASELINE;
        let (prefix, with) = if explanation.has_subjects() {
            let prefix = format!("s{}-{}-", key.subject, slug(label));
            (prefix, format!(" of `{label}`"))
        } else if is_baseline {
            (String::new(), String::new())
        } else {
            ("budget-".to_owned(), format!(" with `{label}`"))
        };
        for from_ns in explanation.slow_from_ns.map(Some).into_iter().chain([None]) {
            let (which, polls) = match from_ns {
                Some(ns) => ("slow", format!("polls over {} µs", ns / 1000)),
                None => ("all", "all polls".to_owned()),
            };
            let samples = evidence.folded(key.variant, from_ns.is_some());
            let seen = how_many(evidence, &samples);
            let graph = CellFlamegraph {
                name: format!("{prefix}{which}.svg"),
                link: format!("{which} polls{with}"),
                title: format!("Time of {which} polls: {cell_name}, {label}"),
                subtitle: format!("{seen}, in {polls}"),
                samples,
                before: None,
            };
            let difference = (!is_baseline).then(|| CellFlamegraph {
                name: format!("{prefix}{which}-difference.svg"),
                link: format!("what changes in {which} polls{with}"),
                title: format!("Change of {which} polls: {cell_name}, {} → {label}", baseline.label),
                // The page shows two flamegraphs beside each other, so there is no room for more words.
                subtitle: format!(
                    "red: a larger share of time than before, blue: a smaller one, without callees; {seen}"
                ),
                samples: graph.samples.clone(),
                before: Some(cell.evidence().folded(baseline.key.variant, from_ns.is_some())),
            });
            flamegraphs.extend([graph].into_iter().chain(difference));
        }
    }
    let has_samples = |folded: &Folded| folded.values().any(|samples| *samples > 0);
    flamegraphs.retain(|flamegraph| {
        has_samples(&flamegraph.samples) && flamegraph.before.as_ref().is_none_or(has_samples)
    });
    flamegraphs
}

fn how_many(evidence: &CellEvidence, samples: &Folded) -> String {
    let interval_ns = evidence.seen.stack_interval_ns;
    let interval = interval_ns.map(|ns| format!(", one in {} µs", number(ns as f64 / 1000.0)));
    let how_often = interval.unwrap_or_default();
    let number_of_samples: u64 = samples.values().sum();
    let too_few = match number_of_samples {
        0..ENOUGH_SLOW_SAMPLES => " (too few for a claim)",
        _ => "",
    };
    format!("{}{too_few}{how_often}", count(number_of_samples, "sample"))
}

impl CellFlamegraph {
    pub(super) fn svg(&self) -> Result<Vec<u8>> {
        const LEAST_PERCENT: f64 = 0.1;
        let lines = match &self.before {
            Some(before) => difference(before, &self.samples)?,
            None => lines(&self.samples),
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
        flamegraph::from_reader(&mut options, lines.as_bytes(), &mut svg)
            .context("cannot draw a flamegraph")?;
        Ok(svg)
    }
}

fn lines(samples: &Folded) -> String {
    let line = |(stack, samples): (&String, &u64)| format!("{stack} {samples}\n");
    samples.iter().map(line).collect()
}

/// Red frames have a larger share of the samples in `after`, and blue ones a smaller share. Widths are shares of `after`.
fn difference(before: &Folded, after: &Folded) -> Result<String> {
    let scaled = differential::Options {
        normalize: true,
        ..differential::Options::default()
    };
    let mut both = Vec::new();
    let [before, after] = [before, after].map(lines);
    differential::from_readers(scaled, before.as_bytes(), after.as_bytes(), &mut both)?;
    Ok(String::from_utf8(both)?)
}
