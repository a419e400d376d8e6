//! What a report is to be of and about. Stored beside it, so that it can be verified.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::{charts, measure::metric::Metric, site::Site};

/// A format of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    Png,
    Svg,
}

impl From<Format> for charts::Format {
    fn from(format: Format) -> charts::Format {
        match format {
            Format::Png => charts::Format::Png,
            Format::Svg => charts::Format::Svg,
        }
    }
}

/// What pictures show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Group {
    /// The baseline, a budget, and the difference
    BeforeAfter,
    /// Budgets against each other, and what they gain for what they cost
    Budgets,
    /// A quantity over the grid, under one budget
    Heatmaps,
    /// How a quantity goes with each axis
    Effects,
    /// How long polls take in the worst cells
    Percentiles,
    /// Where the time goes
    Time,
}

#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Options {
    /// A poll that takes longer is slow
    #[arg(long, default_value = "50us", value_name = "TIME", value_parser = threshold)]
    pub(crate) threshold: u64,
    /// The poll functions to show; the verdict is about the first [default: all, connection first]
    #[arg(long, value_name = "SITE")]
    pub(crate) site: Vec<Site>,
    /// The quantities to draw before and after [default: slow_percent, slow_ms_per_s,
    /// slow_per_request, poll_p99_us, cotenant_late_percent, cotenant_p99_us, requests_per_s]
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Vec<Metric>,
    /// The budgets to show beside the baseline, other than against each other [default: all]
    #[arg(long, value_name = "BUDGET")]
    pub(crate) budget: Vec<String>,
    /// The pictures to draw [default: all]
    #[arg(long, value_name = "PICTURES")]
    pub(crate) picture: Vec<Group>,
    /// How pictures are written
    #[arg(
        long,
        value_name = "FORMAT",
        value_delimiter = ',',
        default_value = "png,svg"
    )]
    pub(crate) format: Vec<Format>,
    /// Where the pictures will be found by readers of report.md, if not beside it
    #[arg(long, value_name = "URL")]
    pub(crate) link_base: Option<String>,
    /// The folder to write [default: RUN/report]
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    pub(crate) out: Option<PathBuf>,
}

impl Options {
    /// All of them unless some were named.
    pub(crate) fn sites(&self) -> Vec<Site> {
        if self.site.is_empty() {
            Site::ALL.to_vec()
        } else {
            once(&self.site)
        }
    }

    /// The site that the verdict is about.
    pub(crate) fn first_site(&self) -> Site {
        self.sites()[0]
    }

    pub(crate) fn metrics(&self) -> Vec<Metric> {
        if self.metric.is_empty() {
            Metric::PICTURED.to_vec()
        } else {
            once(&self.metric)
        }
    }

    pub(crate) fn formats(&self) -> Vec<Format> {
        once(&self.format)
    }

    pub(crate) fn threshold_text(&self) -> String {
        const NS_BY_US: u64 = 1000;
        if self.threshold.is_multiple_of(NS_BY_US) {
            return format!("{} µs", self.threshold / NS_BY_US);
        }
        format!("{} µs", crate::text::number(self.threshold as f64 / 1000.0))
    }
}

/// What was named, each once.
fn once<T: Copy + PartialEq>(named: &[T]) -> Vec<T> {
    let mut once = Vec::new();
    for it in named {
        if !once.contains(it) {
            once.push(*it);
        }
    }
    once
}

/// A duration in nanoseconds.
fn threshold(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a time above zero (accepted: 50us, 1ms)");
    let duration = humantime::parse_duration(text).map_err(|_| wrong())?;
    u64::try_from(duration.as_nanos())
        .ok()
        .filter(|ns| *ns > 0)
        .ok_or_else(wrong)
}
