//! Invented numbers that look like measured ones.

use crate::charts::{Body, Categories, ChartValue, NoValue, Picture};
use crate::stats::Interval;

/// Numbers that look random and are the same every time.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Between −1 and 1.
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

pub(crate) fn picture(title: &str, subtitle: &str, body: impl Body + 'static) -> Picture {
    Picture {
        title: title.to_owned(),
        subtitle: subtitle.to_owned(),
        small_print: "run 2026-11-20T16-40-02Z · libp2p-swarm 0.48.0, yamux 0.13.10 · request-response, noise, \
                      TCP · Linux 6.18, 2 × Xeon 2.8 GHz, governor unknown · delay line, cubic · seed 42 · \
                      sweep --peers 1,2,5,10,15 --rtt 0,5,25,50,100,200 --payload 4KiB,64KiB,256KiB"
            .to_owned(),
        body: Box::new(body),
    }
}

pub(crate) const PAYLOADS: [&str; 6] = ["4 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB"];
pub(crate) const PEERS: [&str; 7] = ["1", "2", "5", "10", "15", "20", "50"];
pub(crate) const RTTS: [&str; 7] = ["0", "5", "25", "50", "100", "200", "400"];

pub(crate) fn categories(name: &str, labels: &[&str]) -> Categories {
    Categories {
        name: name.to_owned(),
        labels: strings(labels),
    }
}

pub(crate) fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

pub(crate) fn around(value: f64, half: f64) -> ChartValue {
    within(value, value - half, value + half)
}

fn within(value: f64, low: f64, high: f64) -> ChartValue {
    ChartValue::new(value, Some(Interval { low, high }))
}

/// The greater the payload and the longer the round trip, the more polls are slow.
pub(crate) fn slow_share(noise: &mut Noise, payload: usize, row: usize, column: usize) -> f64 {
    let size = [0.8, 8.0, 13.0, 24.0, 30.0, 36.0][payload];
    (size * (1.0 + 0.25 * column as f64) / (1.0 + 0.15 * row as f64) * (1.0 + 0.2 * noise.next()))
        .min(61.0)
}

/// Of every kind that there is: without a value, exactly zero, without an interval, with a lopsided one.
pub(crate) fn cell(
    noise: &mut Noise,
    payload: usize,
    row: usize,
    column: usize,
) -> Result<ChartValue, NoValue> {
    let value = slow_share(noise, payload, row, column);
    match (payload, row, column) {
        (1, 2, 3) => Err(NoValue::Failed),
        (1, 3, 3) => Err(NoValue::Invalid),
        (2, 3, 0) => Err(NoValue::Missing),
        (0, 1, 1) => Err(NoValue::NotApplicable),
        (0, 0, 0) => Ok(around(0.0, 0.0)),
        (_, 0, 2) => Ok(ChartValue::exact(value)),
        (_, 1, _) => Ok(within(value, 0.9 * value, 1.25 * value)),
        _ => Ok(around(value, 0.08 * value)),
    }
}
