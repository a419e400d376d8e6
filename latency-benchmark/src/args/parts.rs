//! Which part of a sweep this machine measures, and how many cells at the same time.

use std::env;

use clap::Args;
use lab::Topology;
use program::{Failure, say};
use run_format::config::SweepConfig;
use run_format::shard::Shard;

#[derive(Args)]
#[command(next_help_heading = "Parts of a sweep")]
pub(crate) struct PartArgs {
    /// Measure this many cells at once, each on its own cores; auto: as many as fit [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = parse_jobs, conflicts_with_all = ["central_core", "peer_cores", "peer_hosts"])]
    jobs: Option<usize>,
    #[arg(long, value_name = "I/N", value_parser = parse_shard, requires_all = ["seed", "name"], conflicts_with = "peer_hosts", help = format!("Measure part I of N equally long parts of the cells into NAME-shard-I-of-N, or continue it; needs --seed and --name; `analysis merge` joins them. Forms: {SHARD_FORMS}"))]
    pub(crate) shard: Option<Shard>,
    /// Print the cells, their order, the variants and the longest duration, and measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

const AUTO: usize = usize::MAX;

fn parse_jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        _ if text == "auto" => Ok(AUTO),
        Ok(jobs @ 1..=1024) => Ok(jobs),
        _ => Err("accepted: auto, or a number from 1 to 1024".to_owned()),
    }
}

const SHARD_FORMS: &str =
    "2/8, slurm (the task of a job with --array=1-N), kubernetes/8 (the index of an Indexed Job)";

/// A part as it is typed, or as a cluster's scheduler numbers it.
fn parse_shard(text: &str) -> Result<Shard, String> {
    let variable = |name: &str| env::var(name).map_err(|_| format!("{name} is not set"));
    let (part, of) = match text.split_once('/') {
        Some((part, of)) => (part, of.to_owned()),
        None if text == "slurm" => (text, variable("SLURM_ARRAY_TASK_COUNT")?),
        None => return Err(format!("{text:?} is no part (accepted: {SHARD_FORMS})")),
    };
    let index = match part {
        "slurm" => variable("SLURM_ARRAY_TASK_ID")?,
        "kubernetes" => variable("JOB_COMPLETION_INDEX")?,
        typed => typed.to_owned(),
    };
    let first = u32::from(part != "kubernetes");
    match (index.parse::<u32>(), of.parse()) {
        (Ok(index), Ok(of)) if index.wrapping_sub(first) < of => Ok(Shard {
            index: index - first + 1,
            of,
        }),
        _ => Err(format!(
            "part {index} of {of}: there is none (accepted: {SHARD_FORMS})"
        )),
    }
}

impl PartArgs {
    pub(crate) fn place_jobs(&self, config: &mut SweepConfig) -> Result<(), Failure> {
        let Some(jobs) = self.jobs else {
            return Ok(());
        };
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
}
