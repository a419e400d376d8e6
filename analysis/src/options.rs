//! The options of a report. They are stored beside it, so that it can be verified.

use std::path::PathBuf;

use clap::Args;
use program::number::time;
use program::{Failure, reject};
use run_format::{SLOW_NS, Site};
use serde::{Deserialize, Serialize};

use crate::charts::ChartFormat;
use crate::metrics::{Margin, Metric, ReportPart};
use crate::site::SiteNames;
use crate::text::{duration, joined, unique};

/// The options of every verb that makes figures.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(next_help_heading = "Figures")]
pub(crate) struct FigureOptions {
    /// A poll that takes longer than this is slow; its time beyond this is what a verdict judges
    #[arg(long = "threshold", default_value = "50us", value_name = "TIME", value_parser = threshold)]
    #[serde(rename = "threshold")]
    pub(crate) threshold_ns: u64,
    /// Sites to show. The first one is judged [default: show all, judge connection or quic-connection]
    #[arg(long, value_name = "SITE")]
    pub(crate) site: Vec<Site>,
    #[arg(long, value_name = "QUANTITY=VALUE", help = margin_help())]
    #[serde(default)]
    pub(crate) margin: Vec<Margin>,
    #[arg(long, value_name = "METRIC", help = metric_help(), long_help = Metric::help(&metric_help()))]
    pub(crate) metric: Vec<Metric>,
    /// Folder to write to [default: RUN/report; of `compare`: compared; of `export`: dataset; of `page`: page]
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    pub(crate) out: Option<PathBuf>,
}

/// The options of a report with pictures.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "Pictures")]
pub(crate) struct PictureOptions {
    /// Budgets to draw before and after; the page shows all [default: the one that the verdict names first]
    #[arg(long, value_name = "BUDGET")]
    pub(crate) budget: Vec<String>,
    /// File formats of the pictures
    #[arg(
        long,
        value_name = "FORMAT",
        value_delimiter = ',',
        default_value = "png"
    )]
    pub(crate) format: Vec<ChartFormat>,
    /// The URL of the report's folder, if readers of report.md do not have the pictures beside it
    #[arg(long, value_name = "URL", value_parser = address)]
    pub(crate) link_base: Option<String>,
}

#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Options {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) figures: FigureOptions,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) pictures: PictureOptions,
}

impl From<FigureOptions> for Options {
    fn from(figures: FigureOptions) -> Options {
        Options {
            figures,
            pictures: PictureOptions {
                format: vec![ChartFormat::Png],
                ..PictureOptions::default()
            },
        }
    }
}

impl Options {
    pub(crate) fn sites(&self) -> Vec<Site> {
        match &self.figures.site[..] {
            [] => Site::ALL.to_vec(),
            asked => unique(asked.iter().copied()),
        }
    }

    /// Refuses options that have no meaning for a measurement. `why` says what this measurement lacks.
    pub(crate) fn refuse_options_of_sweeps(&self, why: &str) -> Result<(), Failure> {
        let given = [
            ("--threshold", self.figures.threshold_ns != SLOW_NS),
            ("--site", !self.figures.site.is_empty()),
            ("--metric", !self.figures.metric.is_empty()),
            ("--margin", !self.figures.margin.is_empty()),
            ("--budget", !self.pictures.budget.is_empty()),
        ];
        if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            reject!("{option}: {why} (accepted: --format, --link-base, --out)");
        }
        Ok(())
    }

    pub(crate) fn judged_site(&self, names: &SiteNames) -> Site {
        let asked = self.figures.site.first().copied();
        asked.unwrap_or(names.connection_site())
    }

    /// The folder to write: the one that was asked for, or the default.
    pub(crate) fn out(&self, default: impl Into<PathBuf>) -> PathBuf {
        let asked = self.figures.out.clone();
        asked.unwrap_or_else(|| default.into())
    }

    /// The address of the report's folder with a slash at its end. Empty if none was given.
    pub(crate) fn link_base(&self) -> String {
        let base = self.pictures.link_base.as_deref();
        base.map_or_else(String::new, |base| {
            format!("{}/", base.trim_end_matches('/'))
        })
    }

    pub(crate) fn formats(&self) -> Vec<ChartFormat> {
        unique(self.pictures.format.iter().copied())
    }

    pub(crate) fn threshold_text(&self) -> String {
        duration(self.figures.threshold_ns)
    }
}

fn margin_help() -> String {
    let margins = Metric::ALL.iter().filter_map(|metric| {
        let info = metric.info().verdict.as_ref()?;
        let unit = metric.unit_of_mean_change();
        Some(format!("{}={}{unit}", info.option, info.margin))
    });
    format!(
        "Change of a quantity that matters, such as throughput=1% or late=1pp; may be repeated [default: {}]",
        joined(margins, ", ")
    )
}

fn metric_help() -> String {
    format!(
        "Metrics to draw before and after, and to write to summary.csv; the page has all [default: {} are drawn, all are \
         written]",
        joined(Metric::shown_in(ReportPart::BeforeAfter), ", "),
    )
}

/// Parses an address. Only those are accepted that need no escapes in Markdown.
fn address(text: &str) -> Result<String, String> {
    const LONGEST: usize = 1000;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&*+,;=%".contains(&byte);
    if text.len() <= LONGEST && text.bytes().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "{text:?} is no address (accepted: at most {LONGEST} characters such as those of https://example.org/report)"
    ))
}

/// Parses a duration, in nanoseconds.
fn threshold(text: &str) -> Result<u64, String> {
    Ok(time(text)?.as_nanos() as u64)
}
