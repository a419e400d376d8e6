//! The tags of `histograms.hlog`. A tag says what its histogram counts, and in which slice, variant and pass.

use std::fmt;
use std::str::FromStr;

use crate::{Pass, Site};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;

/// A histogram of durations in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HistogramOf {
    /// The own time of polls: how long they ran.
    Polls(Site),
    /// The time from the beginning to the end of polls.
    PollsByWall(Site),
    /// The longest iteration of each poll of a site.
    LongestIteration(Site),
    Latency,
    /// The time from the moment at which a burst was due to its last delivery.
    LastDelivery,
    /// The latency of requests to the peer with this number, from 1, over the whole run.
    PeerLatency(usize),
    /// The own time of the worker from the wake-up of the co-tenant (by another thread) to its poll.
    CotenantWake,
    /// The same time by the wall clock.
    CotenantWakeByWall,
    /// The time from the deadline of a co-tenant's timer to its poll.
    CotenantTimer,
    /// The time from the wake-up of a co-tenant by a connection to its poll, if there are several workers.
    CotenantSameWorker,
}

/// A tag. Passes have histograms of their own, since recording more detail slows polls down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HistogramTag {
    pub of: HistogramOf,
    /// The number of the slice. None if the histogram is of the whole run.
    pub slice: Option<u32>,
    pub variant: usize,
    pub pass: Pass,
}

/// The kinds without a site or a peer.
const NAMED: [HistogramOf; 6] = [
    HistogramOf::Latency,
    HistogramOf::LastDelivery,
    HistogramOf::CotenantWake,
    HistogramOf::CotenantWakeByWall,
    HistogramOf::CotenantTimer,
    HistogramOf::CotenantSameWorker,
];
const LONGEST: &str = "-longest-iteration";
const WALL: &str = "-wall";
const PEER: &str = "latency-peer";

impl fmt::Display for HistogramOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HistogramOf::Polls(site) => write!(f, "{site}"),
            HistogramOf::PollsByWall(site) => write!(f, "{site}{WALL}"),
            HistogramOf::LongestIteration(site) => write!(f, "{site}{LONGEST}"),
            HistogramOf::PeerLatency(peer) => write!(f, "{PEER}{peer}"),
            HistogramOf::Latency => f.write_str("latency"),
            HistogramOf::LastDelivery => f.write_str("last-delivery"),
            HistogramOf::CotenantWake => f.write_str("cotenant-wake"),
            HistogramOf::CotenantWakeByWall => f.write_str("cotenant-wake-wall"),
            HistogramOf::CotenantTimer => f.write_str("cotenant-timer"),
            HistogramOf::CotenantSameWorker => f.write_str("cotenant-same-worker"),
        }
    }
}

impl fmt::Display for HistogramTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.of)?;
        if let Some(slice) = self.slice {
            write!(f, ".s{slice}")?;
        }
        write!(f, ".v{}", self.variant)?;
        match self.pass {
            Pass::Compare => Ok(()),
            pass => write!(f, ".{pass}"),
        }
    }
}

impl FromStr for HistogramTag {
    type Err = String;

    fn from_str(text: &str) -> Result<HistogramTag, String> {
        let wrong = || format!("{text:?} is no tag of a histogram");
        let (begin, rest) = text.split_once(".v").ok_or_else(wrong)?;
        let (name, slice) = match begin.split_once(".s") {
            None => (begin, None),
            Some((name, slice)) => (name, Some(slice.parse().map_err(|_| wrong())?)),
        };
        let (variant, pass) = match rest.split_once('.') {
            None => (rest, Pass::Compare),
            Some((variant, name)) => {
                let pass = Pass::deserialize(IntoDeserializer::<Error>::into_deserializer(name));
                (variant, pass.map_err(|_| wrong())?)
            }
        };
        let site = |name: &str| name.parse::<Site>().map_err(|_| wrong());
        let named = NAMED.into_iter().find(|kind| kind.to_string() == name);
        let of = if let Some(named) = named {
            named
        } else if let Some(peer) = name.strip_prefix(PEER) {
            HistogramOf::PeerLatency(peer.parse().map_err(|_| wrong())?)
        } else if let Some(site_name) = name.strip_suffix(LONGEST) {
            HistogramOf::LongestIteration(site(site_name)?)
        } else if let Some(site_name) = name.strip_suffix(WALL) {
            HistogramOf::PollsByWall(site(site_name)?)
        } else {
            HistogramOf::Polls(site(name)?)
        };
        Ok(HistogramTag {
            of,
            slice,
            variant: variant.parse().map_err(|_| wrong())?,
            pass,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_as_they_are_written() {
        let mut kinds = vec![
            HistogramOf::Latency,
            HistogramOf::LastDelivery,
            HistogramOf::PeerLatency(12),
            HistogramOf::CotenantWake,
            HistogramOf::CotenantWakeByWall,
            HistogramOf::CotenantTimer,
            HistogramOf::CotenantSameWorker,
        ];
        let passes = [
            Pass::Compare,
            Pass::Children,
            Pass::Stacks,
            Pass::Allocations,
            Pass::Counters,
            Pass::SystemCalls,
            Pass::Timeline,
            Pass::Activity,
            Pass::Normal,
            Pass::Warm,
        ];
        kinds.extend(Site::ALL.map(HistogramOf::Polls));
        kinds.extend(Site::ALL.map(HistogramOf::PollsByWall));
        kinds.extend(Site::ALL.map(HistogramOf::LongestIteration));
        for of in kinds {
            for (pass, slice) in passes.into_iter().zip([Some(17), None].into_iter().cycle()) {
                let tag = HistogramTag {
                    of,
                    slice,
                    variant: 3,
                    pass,
                };
                assert_eq!(tag.to_string().parse(), Ok(tag));
            }
        }
        for text in [
            "",
            "latency",
            "latency.v",
            "latency.v1.x",
            "nobody.v1",
            "latency.s.v1",
            "latency.s-1.v1",
            "latency.s1",
        ] {
            text.parse::<HistogramTag>().expect_err(text);
        }
    }
}
