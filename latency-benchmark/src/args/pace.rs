//! The paces of workloads.

use clap::ValueEnum;
use run_format::{Pace, Workload};

/// The pace of a workload: the given one if it fits, or the default.
pub(super) fn pace(workload: Workload, asked: Option<Pace>) -> Result<Pace, String> {
    const CLOSED: Pace = Pace::Outstanding(2);
    const MOST_PER_SECOND: f64 = 1e6;
    // Peers that are silent for longer count as lost.
    const FEWEST_PER_SECOND: f64 = 0.5;
    let name = name(workload);
    match (workload, asked) {
        (_, Some(Pace::PerSecond(rate))) if !(rate > 0.0 && rate <= MOST_PER_SECOND) => Err(
            format!("--rate {rate}: accepted are rates above 0 and up to {MOST_PER_SECOND} per second"),
        ),
        (Workload::RequestResponse, asked) => Ok(asked.unwrap_or(CLOSED)),
        (Workload::Stream, None) => Ok(CLOSED),
        (Workload::Stream, Some(Pace::Outstanding(count))) => Ok(Pace::Outstanding(count)),
        (Workload::Stream, Some(Pace::PerSecond(_))) => Err(
            "--rate: the workload stream sends as fast as it can (accepted: --outstanding)".into(),
        ),
        (Workload::Stream, Some(Pace::Saturating)) => Err(
            "--outstanding max: only the workload request-response finds that number (accepted: a number)".into()
        ),
        (Workload::Rr, None | Some(Pace::Outstanding(1))) => Ok(Pace::Outstanding(1)),
        (Workload::Rr, Some(Pace::Outstanding(_) | Pace::Saturating)) => {
            Err("--outstanding: the workload rr has one request at a time (accepted: 1)".into())
        }
        (Workload::Idle | Workload::Duplex, None) => Ok(CLOSED),
        (Workload::Idle | Workload::Duplex, Some(_)) => Err(format!(
            "--workload {name}: it has no rate and no number of requests (remove --rate and --outstanding)"
        )),
        (Workload::Gossipsub, None) => Ok(Pace::PerSecond(20.0)),
        (Workload::Burst, None) => Ok(Pace::PerSecond(2.0)),
        (Workload::Handshakes, None) => Ok(Pace::PerSecond(5.0)),
        (Workload::Burst | Workload::Handshakes | Workload::Rr, Some(Pace::PerSecond(rate)))
            if rate < FEWEST_PER_SECOND =>
        {
            Err(format!("--rate {rate}: the workload {name} has at least {FEWEST_PER_SECOND} per second"))
        }
        (_, Some(Pace::PerSecond(rate))) => Ok(Pace::PerSecond(rate)),
        (_, Some(_)) => Err(format!("--outstanding: the workload {name} has a rate (accepted: --rate)")),
    }
}

/// The name of a workload as it is typed.
pub(super) fn name(workload: Workload) -> String {
    let value = workload.to_possible_value().expect("no value is hidden");
    value.get_name().to_owned()
}
