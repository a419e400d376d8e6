//! From a summary to pictures: chooses what is drawn and gives the charts their values.

mod before_after;
mod budgets;
pub(crate) mod drift;
mod effects;
mod grid;
mod heatmaps;
mod percentiles;
pub(crate) mod rr;
mod time;

use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;

use crate::{
    charts::{self, Caption, Estimate, Picture, Series},
    measure::metric::{Metric, What},
    options::{Format, Group, Options},
    site::Site,
    stats::{Interval, Uncertain},
    summary::{CONFIDENCE, Figure, Summary},
    verdict::Verdict,
};

/// A picture with its place in a report.
pub(crate) struct Entry {
    /// The file's name without its extension.
    pub(crate) stem: String,
    pub(crate) group: &'static str,
    /// Which of its group.
    pub(crate) label: String,
    /// What one sees.
    pub(crate) title: String,
    /// Whether it is the one that a report opens with.
    pub(crate) is_first: bool,
    pub(crate) formats: Vec<Format>,
    pub(crate) picture: Box<dyn Picture + Send>,
}

impl Entry {
    /// The names of its files.
    pub(crate) fn files(&self) -> Vec<String> {
        let extension = |format: &Format| match format {
            Format::Png => "png",
            Format::Svg => "svg",
        };
        let formats = self.formats.iter();
        formats
            .map(|format| format!("{}.{}", self.stem, extension(format)))
            .collect()
    }
}

/// What all pictures of a report are made from.
pub(crate) struct Scene<'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) verdict: &'a Verdict,
    pub(crate) options: &'a Options,
    /// The variants to show, by index; the baseline first.
    pub(crate) shown: Vec<usize>,
    /// The sites to show, of those that were seen.
    pub(crate) sites: Vec<Site>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        summary: &'a Summary,
        verdict: &'a Verdict,
        options: &'a Options,
    ) -> Scene<'a> {
        let is_shown =
            |label: &str| options.budget.is_empty() || options.budget.iter().any(|it| it == label);
        let shown = summary.variants.iter().enumerate();
        let shown = shown
            .filter(|(at, variant)| *at == 0 || is_shown(&variant.label))
            .map(|(at, _)| at);
        let measured = |site: &Site| summary.has(What::of(*site, Metric::SlowPercent));
        Scene {
            summary,
            verdict,
            options,
            shown: shown.collect(),
            sites: options.sites().into_iter().filter(measured).collect(),
        }
    }

    /// Every picture there is to draw.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        type Make = fn(&Scene) -> Vec<Entry>;
        const GROUPS: [(Group, Make); 6] = [
            (Group::BeforeAfter, before_after::entries),
            (Group::Budgets, budgets::entries),
            (Group::Heatmaps, heatmaps::entries),
            (Group::Effects, effects::entries),
            (Group::Percentiles, percentiles::entries),
            (Group::Time, time::entries),
        ];
        let wanted = &self.options.picture;
        let groups = GROUPS.iter();
        groups
            .filter(|(group, _)| wanted.is_empty() || wanted.contains(group))
            .flat_map(|(_, entries)| entries(self))
            .collect()
    }

    /// The variants, whether shown or not.
    fn all(&self) -> std::ops::Range<usize> {
        0..self.summary.variants.len()
    }

    fn label(&self, variant: usize) -> &str {
        &self.summary.variants[variant].label
    }

    fn caption(&self, title: String, subtitle: impl Into<String>) -> Caption {
        Caption {
            title,
            subtitle: Some(subtitle.into()).filter(|text| !text.is_empty()),
            small_print: self.summary.identity.line(),
        }
    }

    fn entry(
        &self,
        group: &'static str,
        stem: String,
        label: String,
        picture: impl Picture + Send + 'static,
    ) -> Entry {
        Entry {
            stem,
            group,
            label,
            title: picture.caption().title.clone(),
            is_first: false,
            formats: self.options.formats(),
            picture: Box::new(picture),
        }
    }

    /// One per shown variant, which looks the same wherever variants are the lines.
    fn series(&self) -> Vec<Series> {
        self.shown
            .iter()
            .map(|&variant| Series {
                name: self.label(variant).to_owned(),
                slot: variant,
            })
            .collect()
    }

    /// "slow polls of Connection::poll", or of the worker.
    fn subject(&self, what: What) -> String {
        match what.site {
            Some(site) => format!("{} of {}", what.metric.words(), site.function()),
            None => what.metric.words().to_owned(),
        }
    }

    /// Whether intervals are drawn, in words: published figures have none.
    fn intervals(&self) -> &'static str {
        let mut figures = self
            .summary
            .measured()
            .flat_map(|cell| cell.figures.values().flatten());
        if figures.any(|figure| figure.as_ref().is_some_and(|it| it.interval.is_some())) {
            "95 % intervals"
        } else {
            "no intervals are known"
        }
    }

    /// A subtitle that says what "slow" means, and what is not there, where it matters.
    fn with_slow(&self, metric: Metric, text: &str) -> String {
        match metric {
            Metric::SlowPercent | Metric::SlowMsPerS | Metric::SlowPerRequest => {
                format!("slow: over {}; {text}", self.options.threshold_text())
            }
            Metric::CotenantLatePercent => {
                format!("late: over {}; {text}", self.options.threshold_text())
            }
            Metric::PollP99Us | Metric::CotenantP99Us | Metric::LatencyP99Ms => {
                format!("{text}; no interval where too few values lie beyond to set its upper end")
            }
            _ => text.to_owned(),
        }
    }
}

/// Draws all of them.
pub(crate) fn write(entries: &[Entry], dir: &Path) -> Result<()> {
    entries.par_iter().try_for_each(|entry| {
        let formats: Vec<charts::Format> = entry.formats.iter().copied().map(Into::into).collect();
        charts::write(entry.picture.as_ref(), &dir.join(&entry.stem), &formats)
    })
}

/// An end that the data did not set cannot be drawn.
fn ends(interval: Option<Interval>) -> Option<(f64, f64)> {
    interval
        .map(|it| (it.low, it.high))
        .filter(|(low, high)| low.is_finite() && high.is_finite())
}

fn of_figure(figure: &Figure) -> Estimate {
    Estimate {
        value: figure.value,
        interval: ends(figure.interval),
    }
}

fn of_uncertain(uncertain: Uncertain) -> Estimate {
    Estimate {
        value: uncertain.value,
        interval: ends(Some(uncertain.interval(CONFIDENCE))),
    }
}

/// A file name's part: `muxer-1-deferred`.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// A picture's stem from its parts.
fn stem(parts: &[&str]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .map(|part| slug(part))
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_plain() {
        assert_eq!(
            stem(&["before-after", "slow_percent", "muxer=1/deferred"]),
            "before-after.slow-percent.muxer-1-deferred"
        );
        assert_eq!(slug("none (A/A)"), "none-a-a");
    }
}
