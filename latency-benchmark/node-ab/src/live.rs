//! Live figures of a comparison.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use poll_probe::locked;
use run_format::{HistogramOf, Site, VariantConfig};

use crate::slices::ObservedSlice;

/// The figures of all comparisons of the process. With the feature `prometheus-client` it is a `Collector`.
#[derive(Clone, Debug, Default)]
pub struct LiveFigures(pub(crate) Arc<Mutex<Figures>>);

/// The values of figures, by their name and labels.
pub(crate) type Figures = BTreeMap<(&'static str, Vec<(&'static str, String)>), f64>;

fn owned(labels: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let pair = |(label, value): &(&'static str, &str)| (*label, (*value).to_owned());
    labels.iter().map(pair).collect()
}

impl LiveFigures {
    pub(crate) fn add(&self, name: &'static str, labels: &[(&'static str, &str)], value: f64) {
        let mut figures = locked(&self.0);
        *figures.entry((name, owned(labels))).or_default() += value;
    }

    fn set(&self, name: &'static str, labels: &[(&'static str, &str)], value: f64) {
        locked(&self.0).insert((name, owned(labels)), value);
    }
}

/// Computes the live figures from turns.
pub(crate) struct Feed {
    pub(crate) figures: LiveFigures,
    variants: Vec<String>,
}

impl Feed {
    pub(crate) fn new(figures: LiveFigures, variants: &[VariantConfig]) -> Feed {
        Feed {
            figures,
            variants: variants
                .iter()
                .map(|variant| variant.label.clone())
                .collect(),
        }
    }

    pub(crate) fn in_force(&self, variant: usize) {
        for (other, label) in self.variants.iter().enumerate() {
            let in_force = f64::from(u8::from(other == variant));
            self.figures
                .set("in_force", &[("variant", label)], in_force);
        }
    }

    /// Adds a turn that is over.
    pub(crate) fn turn(&self, variant: usize, observed: &ObservedSlice) {
        let (figures, seconds) = (&self.figures, observed.duration_ns as f64 / 1e9);
        let label = ("variant", &*self.variants[variant]);
        figures.add("measured_seconds", &[label], seconds);
        for site in Site::ALL {
            let (sums, labels) = (observed.site(site).sums(), [label, ("site", site.name())]);
            if sums.polls > 0 {
                figures.add("polls", &labels, sums.polls as f64);
                figures.add("slow_polls", &labels, sums.slow as f64);
                figures.add("beyond_seconds", &labels, sums.beyond_ns as f64 / 1e9);
            }
        }
        for (histogram, woken_by) in [
            (HistogramOf::CotenantWake, "thread"),
            (HistogramOf::CotenantTimer, "timer"),
        ] {
            if let Some(waits) = observed.histograms.get(histogram) {
                let (labels, count) = ([label, ("woken_by", woken_by)], waits.len() as f64);
                figures.add("waits", &labels, count);
                figures.add("wait_seconds", &labels, waits.mean() * count / 1e9);
            }
        }
    }
}
