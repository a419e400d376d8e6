//! Flamegraphs as SVG. The same samples give the same bytes.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use inferno::flamegraph::{
    self, Options, TextTruncateDirection,
    color::{MultiPalette, Palette},
};

use super::stacks::Folded;

/// What a picture says of itself.
pub(crate) struct Words {
    /// What one sees.
    pub(crate) title: String,
    /// Of how many samples, and how often they were taken.
    pub(crate) subtitle: String,
}

/// None without samples.
pub(crate) fn of(folded: &Folded, words: &Words) -> Result<Option<Vec<u8>>> {
    let lines: Vec<String> = folded
        .iter()
        .map(|(stack, samples)| format!("{stack} {samples}"))
        .collect();
    let options = options(words);
    drawn(folded.values().sum(), &lines, options)
}

/// What the second has more of is red, and what it has less of is blue, both as shares of their own
/// samples; widths are those of the second. None if either has no samples.
pub(crate) fn difference(
    before: &Folded,
    after: &Folded,
    words: &Words,
) -> Result<Option<Vec<u8>>> {
    let (was, is): (u64, u64) = (before.values().sum(), after.values().sum());
    if was == 0 || is == 0 {
        return Ok(None);
    }
    let scale = is as f64 / was as f64;
    let stacks: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let line = |stack: &String| {
        let of = |folded: &Folded| folded.get(stack).copied().unwrap_or(0);
        let was = (of(before) as f64 * scale).round();
        format!("{stack} {was} {}", of(after))
    };
    let lines: Vec<String> = stacks.into_iter().map(line).collect();
    drawn(is, &lines, options(words))
}

fn options(words: &Words) -> Options<'static> {
    const LEAST_PERCENT: f64 = 0.1;
    let mut options = Options::default();
    options.title.clone_from(&words.title);
    options.subtitle = Some(words.subtitle.clone());
    options.colors = Palette::Multi(MultiPalette::Rust);
    options.deterministic = true;
    options.bgcolors = "#ffffff".parse().ok();
    options.min_width = LEAST_PERCENT;
    options.font_type = "DejaVu Sans Mono, Menlo, Consolas, monospace".to_owned();
    options.frame_height = 18;
    options.text_truncate_direction = TextTruncateDirection::Right;
    options.name_type = "Frame:".to_owned();
    options
}

fn drawn(samples: u64, lines: &[String], mut options: Options) -> Result<Option<Vec<u8>>> {
    if samples == 0 {
        return Ok(None);
    }
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
        .context("cannot draw a flamegraph")?;
    Ok(Some(svg))
}
