//! The input of a report, and its pictures.

use run_format::{BASELINE, Site};

use crate::charts::{Body, ChartFormat, ChartValue, Picture};
use crate::load::name_in_files;
use crate::metrics::{Metric, MetricKey};
use crate::options::Options;
use crate::summary::{CellFigure, Summary};
use crate::text::joined;
use crate::verdict::Verdict;

pub(crate) struct ReportPicture {
    pub(crate) stem: String,
    /// Whether it is one of the pictures that the report opens with.
    pub(crate) is_opening: bool,
    pub(crate) formats: Vec<ChartFormat>,
    pub(crate) picture: Picture,
}

impl ReportPicture {
    /// Makes a picture whose file is named after `names`.
    pub(super) fn new(
        names: &[&str],
        is_opening: bool,
        [title, subtitle, small_print]: [String; 3],
        body: impl Body + 'static,
        options: &Options,
    ) -> ReportPicture {
        let slugs = names.iter().map(|name| slug(name));
        ReportPicture {
            stem: joined(slugs.filter(|slug| !slug.is_empty()), "."),
            is_opening,
            formats: options.formats(),
            picture: Picture {
                title,
                subtitle,
                small_print,
                body: Box::new(body),
            },
        }
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let name = |format: &ChartFormat| format!("{}.{}", self.stem, name_in_files(format));
        self.formats.iter().map(name).collect()
    }
}

/// The figures and options from which a report's text, pictures and page are made.
pub(crate) struct ReportInput<'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) verdict: &'a Verdict,
    pub(crate) options: &'a Options,
    /// The indices of the variants to show. The baseline comes first.
    pub(crate) shown_variants: Vec<usize>,
    /// The site of the verdict, or the sites that the options name.
    pub(crate) sites: Vec<Site>,
}

impl<'a> ReportInput<'a> {
    pub(crate) fn new(summary: &'a Summary, verdict: &'a Verdict, options: &'a Options) -> Self {
        let asked = &options.pictures.budget;
        let is_shown = |label: &String| asked.is_empty() || asked.contains(label);
        let variants = &summary.variants;
        let shown_variants = (0..variants.len())
            .filter(|variant| *variant == BASELINE || is_shown(&variants[*variant].label));
        // Only the page has the other sites.
        let sites = match options.figures.site[..] {
            [] => vec![verdict.site],
            _ => options.sites(),
        };
        let measured = |site: &Site| summary.has(MetricKey::new(*site, Metric::SlowPercent));
        ReportInput {
            summary,
            verdict,
            options,
            shown_variants: shown_variants.collect(),
            sites: sites.into_iter().filter(measured).collect(),
        }
    }

    pub(super) fn label(&self, variant: usize) -> &str {
        &self.summary.variants[variant].label
    }

    pub(super) fn picture(
        &self,
        names: &[&str],
        is_opening: bool,
        [title, subtitle]: [String; 2],
        body: impl Body + 'static,
    ) -> ReportPicture {
        let texts = [title, subtitle, self.summary.line()];
        ReportPicture::new(names, is_opening, texts, body, self.options)
    }

    /// Returns words such as "slow polls of Connection::poll", or the metric alone if it belongs to the worker.
    pub(super) fn subject(&self, key: MetricKey) -> String {
        let words = key.metric.info().words;
        match key.site {
            Some(site) => format!("{words} of {}", self.summary.function(site)),
            None => words.to_owned(),
        }
    }
}

impl From<&CellFigure> for ChartValue {
    fn from(figure: &CellFigure) -> ChartValue {
        ChartValue::new(figure.estimate.value, figure.interval())
    }
}

/// Returns a part of a file name, such as `muxer-1-deferred`.
pub(crate) fn slug(text: &str) -> String {
    let parts = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words = parts.filter(|word| !word.is_empty());
    joined(words, "-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_plain() {
        assert_eq!(slug("muxer=1/deferred"), "muxer-1-deferred");
        assert_eq!(slug("none (A/A)"), "none-a-a");
    }
}
