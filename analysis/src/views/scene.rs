//! The data of all pictures of a report, and the entry that each picture becomes in it.

use run_format::Site;

use crate::{
    charts::{Caption, ChartFormat, ChartValue, Picture},
    measure::{
        metric::{Metric, MetricKey},
        metric_info::Term,
    },
    options::Options,
    stats::{CONFIDENCE, Interval, Uncertain},
    summary::{CellFigure, Summary},
    text::joined,
    verdict::Verdict,
};

pub(crate) struct Entry {
    pub(crate) stem: String,
    /// Whether the report opens with it. There may be several.
    pub(crate) is_first: bool,
    pub(crate) formats: Vec<ChartFormat>,
    pub(crate) picture: Box<dyn Picture + Send>,
}

impl Entry {
    pub(super) fn first(
        stem: String,
        picture: impl Picture + Send + 'static,
        options: &Options,
    ) -> Entry {
        Entry {
            stem,
            is_first: true,
            formats: options.formats(),
            picture: Box::new(picture),
        }
    }

    pub(crate) fn title(&self) -> &str {
        &self.picture.caption().title
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let name = |format: &ChartFormat| format!("{}.{}", self.stem, format.extension());
        self.formats.iter().map(name).collect()
    }
}

pub(crate) struct Scene<'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) verdict: &'a Verdict,
    pub(crate) options: &'a Options,
    /// The variants to show, by index; the baseline first.
    pub(crate) shown: Vec<usize>,
    /// That of the verdict, or those that the options name.
    pub(crate) sites: Vec<Site>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        summary: &'a Summary,
        verdict: &'a Verdict,
        options: &'a Options,
    ) -> Scene<'a> {
        let asked = &options.pictures.budget;
        let is_shown = |label: &String| asked.is_empty() || asked.contains(label);
        let variants = &summary.variants;
        let shown = (0..variants.len()).filter(|at| *at == 0 || is_shown(&variants[*at].label));
        // The page has the others.
        let sites = match options.figures.site[..] {
            [] => vec![verdict.site],
            _ => options.sites(),
        };
        let measured = |site: &Site| summary.has(MetricKey::new(*site, Metric::SlowPercent));
        Scene {
            summary,
            verdict,
            options,
            shown: shown.collect(),
            sites: sites.into_iter().filter(measured).collect(),
        }
    }

    pub(super) fn label(&self, variant: usize) -> &str {
        &self.summary.variants[variant].label
    }

    pub(super) fn caption(&self, title: String, subtitle: impl Into<String>) -> Caption {
        Caption {
            title,
            subtitle: subtitle.into(),
            small_print: self.summary.line(),
        }
    }

    pub(super) fn entry(&self, stem: String, picture: impl Picture + Send + 'static) -> Entry {
        Entry {
            is_first: false,
            ..Entry::first(stem, picture, self.options)
        }
    }

    /// "slow polls of Connection::poll"; the metric alone if it is one of the worker.
    pub(super) fn subject(&self, what: MetricKey) -> String {
        let words = what.metric.info().words;
        match what.site {
            Some(site) => format!("{words} of {}", self.summary.function(site)),
            None => words.to_owned(),
        }
    }

    /// What stands below a value. Published figures have no interval.
    pub(super) fn intervals(&self) -> &'static str {
        let cells = self.summary.measured();
        let mut figures = cells.flat_map(|cell| cell.figures.values().flatten().flatten());
        match figures.any(|figure| figure.estimate.level.is_some()) {
            true => "its 95 % interval",
            false => "no interval, since none was published",
        }
    }

    /// A subtitle that first explains the metric.
    pub(super) fn explained(&self, metric: Metric, text: &str) -> String {
        let threshold = self.options.threshold_text();
        let terms = metric.info().terms.iter();
        let (after, before): (Vec<Term>, Vec<Term>) =
            terms.partition(|term| **term == Term::OpenEnd);
        let in_words = |term: &Term| match term {
            Term::Slow => format!("slow: longer than {threshold}"),
            Term::Beyond => format!("threshold: {threshold}"),
            Term::CoTenant => CO_TENANT.to_owned(),
            Term::Late => format!("late: more than {threshold} after it was due"),
            Term::OpenEnd => OPEN_END.to_owned(),
        };
        let before = before.iter().map(in_words);
        let text = before.chain([text.to_owned()]);
        let parts: Vec<String> = text.chain(after.iter().map(in_words)).collect();
        parts.join("; ")
    }
}

pub(super) const CO_TENANT: &str = "co-tenant: a small task on the same worker thread";
const OPEN_END: &str = "no interval where too few values are greater to bound it";

/// None if an end has no bound, since such an interval cannot be drawn.
pub(super) fn ends(interval: Option<Interval>) -> Option<(f64, f64)> {
    interval
        .map(|it| (it.low, it.high))
        .filter(|(low, high)| low.is_finite() && high.is_finite())
}

pub(super) fn of_figure(figure: &CellFigure) -> ChartValue {
    ChartValue::new(figure.estimate.value, ends(figure.interval()))
}

pub(super) fn of_uncertain(uncertain: Uncertain) -> ChartValue {
    ChartValue::new(uncertain.value, ends(Some(uncertain.interval(CONFIDENCE))))
}

/// A part of a file name: `muxer-1-deferred`.
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

pub(super) fn stem(parts: &[&str]) -> String {
    let slugs = parts.iter().map(|part| slug(part));
    joined(slugs.filter(|slug| !slug.is_empty()), ".")
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
