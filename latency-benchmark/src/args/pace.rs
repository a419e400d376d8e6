//! The paces of workloads.

use run_format::{Pace, Workload};

/// The paces that a workload can have.
struct Paces {
    default: Pace,
    /// The numbers of outstanding requests.
    outstanding: Outstanding,
    /// The least rate. None if the workload has no rate.
    least_per_second: Option<f64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Outstanding {
    None,
    One,
    Any,
    /// Any number, and `max`, which finds one.
    AnyAndMax,
}

fn paces(workload: Workload) -> Paces {
    // Peers that are silent for longer count as lost.
    const NOT_LOST: Option<f64> = Some(0.5);
    const CLOSED: Pace = Pace::Outstanding(2);
    let (default, outstanding, least_per_second) = match workload {
        Workload::RequestResponse => (CLOSED, Outstanding::AnyAndMax, Some(0.0)),
        Workload::Stream => (CLOSED, Outstanding::Any, None),
        Workload::Rr => (Pace::Outstanding(1), Outstanding::One, NOT_LOST),
        // These two have a pace of their own, which the default stands for.
        Workload::Idle | Workload::Duplex => (CLOSED, Outstanding::None, None),
        Workload::Gossipsub => (Pace::PerSecond(20.0), Outstanding::None, Some(0.0)),
        Workload::Burst => (Pace::PerSecond(2.0), Outstanding::None, NOT_LOST),
        Workload::Handshakes => (Pace::PerSecond(5.0), Outstanding::None, NOT_LOST),
    };
    Paces {
        default,
        outstanding,
        least_per_second,
    }
}

/// The pace of a workload: the given one if it fits, or the default.
pub(super) fn pace(workload: Workload, asked: Option<Pace>) -> Result<Pace, String> {
    let paces = paces(workload);
    let Some(pace) = asked else {
        return Ok(paces.default);
    };
    let refused = match pace {
        Pace::PerSecond(rate) => refused_rate(workload, &paces, rate),
        Pace::Outstanding(count) => refused_outstanding(workload, &paces, Some(count)),
        Pace::Saturating => refused_outstanding(workload, &paces, None),
    };
    refused.map_or(Ok(pace), Err)
}

/// Why the workload cannot have this rate. None if it can.
fn refused_rate(workload: Workload, paces: &Paces, rate: f64) -> Option<String> {
    const MOST_PER_SECOND: f64 = 1e6;
    if !(rate > 0.0 && rate <= MOST_PER_SECOND) {
        return Some(format!(
            "--rate {rate}: accepted are rates above 0 and up to {MOST_PER_SECOND} per second"
        ));
    }
    match paces.least_per_second {
        Some(least) if rate < least => Some(format!(
            "--rate {rate}: the workload {workload} has at least {least} per second"
        )),
        Some(_) => None,
        None if paces.outstanding == Outstanding::None => Some(has_neither(workload)),
        None => Some(format!(
            "--rate: the workload {workload} sends as fast as it can (accepted: --outstanding)"
        )),
    }
}

/// Why the workload cannot have this number of outstanding requests, or `max` if there is no number. None if it can.
fn refused_outstanding(workload: Workload, paces: &Paces, count: Option<u32>) -> Option<String> {
    match (paces.outstanding, count) {
        (Outstanding::AnyAndMax, _)
        | (Outstanding::Any, Some(_))
        | (Outstanding::One, Some(1)) => None,
        (Outstanding::Any, None) => Some(
            "--outstanding max: only the workload request-response finds that number (accepted: a number)"
                .to_owned(),
        ),
        (Outstanding::One, _) => Some(format!(
            "--outstanding: the workload {workload} has one request at a time (accepted: 1)"
        )),
        (Outstanding::None, _) if paces.least_per_second.is_none() => Some(has_neither(workload)),
        (Outstanding::None, _) => Some(format!(
            "--outstanding: the workload {workload} has a rate (accepted: --rate)"
        )),
    }
}

fn has_neither(workload: Workload) -> String {
    format!(
        "--workload {workload}: it has no rate and no number of requests (remove --rate and --outstanding)"
    )
}
