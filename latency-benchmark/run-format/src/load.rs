//! The load of nodes: one workload, or the parts of a profile at the same time.

use std::num::{NonZeroU8, NonZeroU32, NonZeroUsize};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::plausible::{COUNT, PlausibleValue, WHAT_THE_TYPE_ALLOWS, plausible};
use crate::{Payload, SMALLEST_MESSAGE, shown_as_serialised};

/// The kind of traffic between the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Central sends requests, peers echo them
    RequestResponse,
    /// Central sends chunks over one long stream per peer, peers count and acknowledge them
    Stream,
    /// Every node publishes to a topic, and central relays among the peers: by gossipsub of libp2p, or by iroh-gossip
    Gossipsub,
    /// Ping and identify only
    Idle,
    /// Central sends one request at a time over one long stream per peer, and peers echo it
    Rr,
    /// Central sends a block to all peers at once, at a rate, and peers acknowledge each
    Burst,
    /// Both ends send chunks over one long stream per peer, as fast as flow control allows
    Duplex,
    /// Central connects to a peer, both identify themselves, central pings and leaves, at a rate
    Handshakes,
}

shown_as_serialised!(Workload);

impl Workload {
    /// Whether peers answer, so that one that never does is an error.
    pub fn has_answers(self) -> bool {
        !matches!(self, Workload::Gossipsub | Workload::Idle)
    }
}

/// The size of a request, and how many central sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    pub payload: Payload,
    pub pace: Pace,
}

plausible! { Load;
    payload pace: WHAT_THE_TYPE_ALLOWS;
}

/// The rule for when the next request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Closed loop: as soon as one of this number per peer is answered. Latency counts from the sending.
    Outstanding(u32),
    /// Open loop: this number per second to each peer, answered or not. Latency counts from when it was due.
    PerSecond(f64),
    /// Closed loop with as many for each peer as still raise throughput. Central doubles the number while it warms up.
    Saturating,
}

impl PlausibleValue for Pace {
    fn figure(&self) -> Option<f64> {
        match self {
            Pace::Outstanding(count) => Some(f64::from(*count)),
            Pace::PerSecond(rate) => Some(*rate),
            Pace::Saturating => None,
        }
    }
}

/// A workload, for some of the peers and some of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub workload: Workload,
    pub sizes: Sizes,
    /// Requests per second, in an open loop.
    pub rate: Option<f64>,
    /// Unanswered requests, in a closed loop.
    pub outstanding: Option<NonZeroU32>,
    /// Streams to each peer. The default is one.
    pub streams: Option<NonZeroU8>,
    /// The numbers of the peers, from 1. None means all.
    pub peers: Option<Vec<NonZeroUsize>>,
    /// The time in which the part sends. None means always.
    pub phase: Option<Phase>,
}

plausible! { Part;
    workload sizes outstanding streams peers phase: WHAT_THE_TYPE_ALLOWS;
    rate: COUNT;
}

impl Part {
    /// A part that sends all the time and to all peers.
    pub fn whole(workload: Workload, load: Load) -> Part {
        let part = Part {
            workload,
            sizes: Sizes::one(load.payload),
            rate: None,
            outstanding: None,
            streams: None,
            peers: None,
            phase: None,
        };
        part.paced(load.pace)
    }

    pub fn paced(mut self, pace: Pace) -> Part {
        match pace {
            Pace::PerSecond(rate) => self.rate = Some(rate),
            Pace::Outstanding(count) => self.outstanding = NonZeroU32::new(count),
            Pace::Saturating => {}
        }
        self
    }

    pub fn pace(&self) -> Pace {
        let closed = Pace::Outstanding(self.outstanding.map_or(1, NonZeroU32::get));
        self.rate.map_or(closed, Pace::PerSecond)
    }

    pub fn has_peer(&self, number: usize) -> bool {
        let peers = self.peers.as_ref();
        peers.is_none_or(|peers| peers.iter().any(|peer| peer.get() == number))
    }

    pub fn streams(&self) -> u8 {
        self.streams.map_or(1, NonZeroU8::get)
    }
}

/// Sizes, each with its share of all requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Sizes {
    /// The texts as they were given.
    texts: Vec<String>,
    /// Each size, as often as its share says.
    all: Vec<Payload>,
}

impl TryFrom<Vec<String>> for Sizes {
    type Error = String;

    fn try_from(texts: Vec<String>) -> Result<Sizes, String> {
        let mut all = Vec::new();
        for text in &texts {
            let (size, share) = text.split_once('x').unwrap_or((text, "1"));
            match share.trim().parse() {
                Ok(share @ 1..=1000) => all.extend(vec![size.trim().parse::<Payload>()?; share]),
                _ => {
                    let accepted = r#"accepted: such as "4KiB" or "4KiB x 9", at most 1000"#;
                    return Err(format!("{text:?} has no share ({accepted})"));
                }
            }
        }
        match all.iter().min() {
            None => Err("there is no size".to_owned()),
            Some(least) if least.bytes() < SMALLEST_MESSAGE => {
                Err(format!("{least} is less than {SMALLEST_MESSAGE}B"))
            }
            Some(_) => Ok(Sizes { texts, all }),
        }
    }
}

impl From<Sizes> for Vec<String> {
    fn from(sizes: Sizes) -> Vec<String> {
        sizes.texts
    }
}

impl Sizes {
    /// All requests have this size.
    pub fn one(size: Payload) -> Sizes {
        Sizes {
            texts: vec![size.to_string()],
            all: vec![size],
        }
    }

    /// The size of the request with that number. Both ends of a stream know it, and shares hold in any stretch of a stream.
    pub fn nth(&self, number: u64) -> Payload {
        /// The golden ratio. Its multiples, without their whole part, are spread evenly between 0 and 1.
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let part = number.wrapping_mul(STEP) >> 32;
        self.all[((part * self.all.len() as u64) >> 32) as usize]
    }

    pub fn largest(&self) -> Payload {
        self.all.iter().copied().max().unwrap_or_default()
    }
}

/// The time between `from` and `to` seconds of each cycle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    pub from: f64,
    pub to: f64,
    /// The length of the cycle.
    pub of: f64,
}

plausible! { Phase;
    from to of: COUNT;
}

impl Phase {
    /// The time from that moment of the run to the next moment of the phase.
    pub fn wait(&self, at: Duration) -> Duration {
        let at = at.as_secs_f64() % self.of;
        match (self.from..self.to).contains(&at) {
            true => Duration::ZERO,
            false => Duration::from_secs_f64((self.from - at).rem_euclid(self.of)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn sizes_come_in_their_shares_and_are_read_as_they_are_written() {
        let sizes: Sizes = from_value(json!(["4KiB x 9", "1MiB"])).expect("sizes");
        let large = (0..1000).filter(|number| sizes.nth(*number) == Payload::kib(1024));
        assert!((98..=102).contains(&large.count()));
        let written = to_value(&sizes).expect("JSON");
        assert_eq!(from_value::<Sizes>(written).expect("sizes"), sizes);
        assert_eq!(sizes.largest(), Payload::kib(1024));
        for wrong in [json!([]), json!(["4KiB x 0"]), json!(["4"]), json!("4KiB")] {
            from_value::<Sizes>(wrong).expect_err("no sizes");
        }
    }

    #[test]
    fn a_part_waits_for_its_phase() {
        let phase = Phase {
            from: 0.25,
            to: 0.5,
            of: 1.0,
        };
        for (at_ms, wait_ms) in [
            (0, 250),
            (250, 0),
            (499, 0),
            (500, 750),
            (3375, 0),
            (4000, 250),
        ] {
            let waited = phase.wait(Duration::from_millis(at_ms));
            assert_eq!(waited.as_millis(), wait_ms, "at {at_ms} ms");
        }
    }
}
