//! Flamegraphs as SVG. The same samples give the same bytes.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use inferno::flamegraph::{
    self, Options, TextTruncateDirection,
    color::{MultiPalette, Palette},
};

use super::stacks::Folded;

pub(crate) struct FlamegraphText {
    pub(crate) title: String,
    pub(crate) subtitle: String,
}

pub(crate) fn of(samples: &Folded, text: &FlamegraphText) -> Result<Vec<u8>> {
    let lines = samples.iter();
    let lines = lines.map(|(stack, samples)| format!("{stack} {samples}"));
    drawn(lines.collect(), text)
}

/// Red frames have a larger share of the samples after, blue ones a smaller share. Widths are those after.
pub(crate) fn difference(
    before: &Folded,
    after: &Folded,
    text: &FlamegraphText,
) -> Result<Vec<u8>> {
    let (was, is): (u64, u64) = (before.values().sum(), after.values().sum());
    let scale = is as f64 / was as f64;
    let stacks: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let line = |stack: &String| {
        let of = |folded: &Folded| folded.get(stack).copied().unwrap_or(0);
        let was = (of(before) as f64 * scale).round();
        format!("{stack} {was} {}", of(after))
    };
    drawn(stacks.into_iter().map(line).collect(), text)
}

fn drawn(lines: Vec<String>, text: &FlamegraphText) -> Result<Vec<u8>> {
    const LEAST_PERCENT: f64 = 0.1;
    let mut options = Options::default();
    options.title.clone_from(&text.title);
    options.subtitle = Some(text.subtitle.clone());
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
