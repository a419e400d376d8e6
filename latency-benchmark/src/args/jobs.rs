//! How many cells are measured at the same time.

use lab::Topology;
use program::{Failure, say};
use run_format::config::SweepConfig;

const AUTO: usize = usize::MAX;

pub(crate) fn parse(text: &str) -> Result<usize, String> {
    match text.parse() {
        _ if text == "auto" => Ok(AUTO),
        Ok(jobs @ 1..=1024) => Ok(jobs),
        _ => Err("accepted: auto, or a number from 1 to 1024".to_owned()),
    }
}

pub(crate) fn place(jobs: usize, config: &mut SweepConfig) -> Result<(), Failure> {
    let topology = Topology::of_this_process()?;
    let places = topology.places(config.runtime.workers, jobs)?;
    if jobs != AUTO && jobs > places.len() {
        say(format!(
            "warning: --jobs {jobs}: the {} cores of this machine are enough for {} at a time",
            topology.available().count(),
            places.len()
        ));
    }
    if let [first, _, ..] = &places[..] {
        config.lab.placement = first.clone();
        config.jobs = Some(plan::jobs::in_places(places, plan::cells::launches(config)));
    }
    Ok(())
}
