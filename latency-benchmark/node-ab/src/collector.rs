//! The live figures for `prometheus-client`.

use std::fmt;

use poll_probe::locked;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType::{self, Counter, Gauge};

use crate::live::LiveFigures;

const FIGURES: [(&str, MetricType, &str); 9] = [
    ("in_force", Gauge, "1 for the variant in force"),
    ("measured_seconds", Counter, "Time of turns"),
    ("polls", Counter, "Polls"),
    ("slow_polls", Counter, "Polls of more than 50 µs"),
    ("beyond_seconds", Counter, "Time of polls after 50 µs"),
    ("waits", Counter, "Times a co-tenant was woken"),
    ("wait_seconds", Counter, "Time until co-tenants ran"),
    ("blocks", Counter, "Blocks with a turn of each variant"),
    ("lost_records", Counter, "Records lost in turns"),
];

impl Collector for LiveFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let figures = locked(&self.0);
        for (name, kind, help) in FIGURES {
            let full = format!("node_ab_{name}");
            let mut metric = encoder.encode_descriptor(&full, help, None, kind)?;
            for ((_, labels), value) in figures.iter().filter(|figure| figure.0.0 == name) {
                let mut labelled = metric.encode_family(labels)?;
                match kind {
                    Counter => {
                        labelled.encode_counter::<Vec<(String, String)>, _, f64>(value, None)?
                    }
                    _ => labelled.encode_gauge(value)?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::slices::ObservedSlice;
    use poll_probe::VariantId;
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;
    use run_format::{Budgets, HistogramOf, Role, Site, VariantConfig};

    use super::*;
    use crate::live::Feed;

    #[test]
    fn figures_of_turns_are_read_from_the_registry() {
        let figures = LiveFigures::default();
        let mut registry = Registry::default();
        registry.register_collector(Box::new(figures.clone()));
        let variants = ["none", "none (A/A)", "task=8"].map(|label| VariantConfig {
            label: label.to_owned(),
            role: Role::Candidate,
            budgets: Budgets::NONE,
        });
        let feed = Feed::new(figures, &variants);
        for beyond_us in [200, 210, 190, 205, 200, 210, 190, 205, 200, 210] {
            for (variant, us) in [(1, beyond_us + 3), (2, 0), (0, beyond_us)] {
                feed.in_force(variant);
                let mut observed = ObservedSlice::open(VariantId::default(), 0, 0, 0);
                observed.end_turn(1_000_000);
                let task = &mut observed.sites[Site::Task as usize];
                task.row.polls = 1;
                let band = task.iterations_by_band.entry((0, None)).or_default();
                band.add((50 + us) * 1000);
                observed
                    .histograms
                    .record(HistogramOf::CotenantTimer, 2_000_000);
                feed.turn(variant, &observed);
            }
            feed.figures.add("blocks", &[], 1.0);
        }
        feed.turn(0, &ObservedSlice::default());
        feed.figures.add("lost_records", &[], 7.0);
        let mut text = String::new();
        encode(&mut text, &registry).expect("it writes to memory");
        for line in [
            "node_ab_in_force{variant=\"none\"} 1.0",
            "node_ab_in_force{variant=\"task=8\"} 0.0",
            "node_ab_polls_total{variant=\"task=8\",site=\"task\"} 10.0",
            "node_ab_slow_polls_total{variant=\"task=8\",site=\"task\"} 0.0",
            "node_ab_slow_polls_total{variant=\"none\",site=\"task\"} 10.0",
            "node_ab_waits_total{variant=\"none\",woken_by=\"timer\"} 10.0",
            "node_ab_blocks_total{} 10.0",
            "node_ab_lost_records_total{} 7.0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        let value = |start: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(start));
            line.expect(&text).trim().parse().expect("a number")
        };
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-3 * expected.abs();
        assert!(
            near(
                value("node_ab_beyond_seconds_total{variant=\"none\",site=\"task\"}"),
                2020e-6
            ),
            "{text}"
        );
        assert!(
            near(
                value("node_ab_wait_seconds_total{variant=\"none\",woken_by=\"timer\"}"),
                20e-3
            ),
            "{text}"
        );
    }
}
