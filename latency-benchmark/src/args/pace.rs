//! The paces of workloads.

use run_format::{Pace, Workload};

/// The pace of a workload: the given one if it fits, or the default.
pub(super) fn pace(workload: Workload, asked: Option<Pace>) -> Result<Pace, String> {
    const CLOSED: Pace = Pace::Outstanding(2);
    const MOST_PER_SECOND: f64 = 1e6;
    // Peers that are silent for longer count as lost.
    const FEWEST_PER_SECOND: f64 = 0.5;
    match (workload, asked) {
        (_, Some(Pace::PerSecond(rate))) if !(rate > 0.0 && rate <= MOST_PER_SECOND) => Err(
            format!("--rate {rate}: accepted are rates above 0 and up to {MOST_PER_SECOND} per second"),
        ),
        (Workload::RequestResponse, Some(pace)) => Ok(pace),
        (Workload::Stream, Some(pace @ Pace::Outstanding(_))) => Ok(pace),
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
        (Workload::RequestResponse | Workload::Stream | Workload::Idle | Workload::Duplex, None) => Ok(CLOSED),
        (Workload::Idle | Workload::Duplex, Some(_)) => Err(format!(
            "--workload {workload}: it has no rate and no number of requests (remove --rate and --outstanding)"
        )),
        (Workload::Gossipsub, None) => Ok(Pace::PerSecond(20.0)),
        (Workload::Burst, None) => Ok(Pace::PerSecond(2.0)),
        (Workload::Handshakes, None) => Ok(Pace::PerSecond(5.0)),
        (Workload::Burst | Workload::Handshakes | Workload::Rr, Some(Pace::PerSecond(rate)))
            if rate < FEWEST_PER_SECOND =>
        {
            Err(format!("--rate {rate}: the workload {workload} has at least {FEWEST_PER_SECOND} per second"))
        }
        (_, Some(pace @ Pace::PerSecond(_))) => Ok(pace),
        (_, Some(_)) => Err(format!("--outstanding: the workload {workload} has a rate (accepted: --rate)")),
    }
}
