//! The folder of results, the seed of all random choices, and the part of a sweep that this machine measures.

use std::env;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use lab::Topology;
use program::{Failure, eprint_line, reject};
use run_format::{Shard, SweepConfig, plan};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Results")]
pub(crate) struct NewRunArgs {
    /// Seed for the random order [default: a random one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// The folder for results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// The name of this result, a new folder there [default: date and time]
    #[arg(long)]
    name: Option<String>,
}

impl NewRunArgs {
    /// A random seed has 32 bits, which every reader of JSON holds exactly.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
            .unwrap_or_else(|| u64::from(rand::random::<u32>()))
    }

    /// The given name if it can name a folder, else date and time: `2026-11-20T15-04-05Z`.
    pub(crate) fn dir(&self) -> Result<PathBuf, Failure> {
        const LONGEST: usize = 100;
        let Some(name) = &self.name else {
            let now = humantime::format_rfc3339_seconds(SystemTime::now());
            return Ok(self.out.join(now.to_string().replace(':', "-")));
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if !(1..=LONGEST).contains(&name.len())
            || name.starts_with(['.', '-'])
            || !name.bytes().all(is_plain)
        {
            reject!(
                "--name {name:?}: it cannot name a folder (accepted: at most 100 letters, digits, -, _ and .)"
            );
        }
        Ok(self.out.join(name))
    }
}

#[derive(Args)]
#[command(next_help_heading = "Parts of a sweep")]
pub(crate) struct PartArgs {
    /// Measure this many cells at once, each on its own cores; auto: as many as fit [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = parse_jobs, conflicts_with_all = ["central_core", "peer_hosts"])]
    jobs: Option<Jobs>,
    #[arg(long, value_name = "I/N", value_parser = parse_shard, requires_all = ["seed", "name"], conflicts_with = "peer_hosts", help = format!("Measure the I-th of N equally long parts into NAME-shard-I-of-N, or continue it; needs --seed and --name; `analysis merge` joins them. Forms: {SHARD_FORMS}"))]
    pub(crate) shard: Option<Shard>,
    /// Print the cells, their order, the variants, the longest duration and what is to be built, and measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Clone, Copy)]
enum Jobs {
    AsManyAsFit,
    Count(usize),
}

fn parse_jobs(text: &str) -> Result<Jobs, String> {
    if text == "auto" {
        return Ok(Jobs::AsManyAsFit);
    }
    match text.parse() {
        Ok(jobs @ 1..=1024) => Ok(Jobs::Count(jobs)),
        _ => Err("accepted: auto, or a number from 1 to 1024".to_owned()),
    }
}

const SHARD_FORMS: &str =
    "2/8, slurm (the task of a job with --array=1-N), kubernetes/8 (the index of an Indexed Job)";

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
            "there is no part {index} of {of} (accepted: {SHARD_FORMS})"
        )),
    }
}

impl PartArgs {
    pub(crate) fn place_jobs(&self, config: &mut SweepConfig) -> Result<(), Failure> {
        let Some(jobs) = self.jobs else {
            return Ok(());
        };
        let topology = Topology::for_this_process()?;
        let most = match jobs {
            Jobs::AsManyAsFit => usize::MAX,
            Jobs::Count(jobs) => jobs,
        };
        let places = topology.places(config.runtime.workers, most)?;
        if let Jobs::Count(jobs) = jobs
            && jobs > places.len()
        {
            eprint_line(format!(
                "warning: --jobs {jobs}: the {} cores of this machine are enough for {} at a time",
                topology.available().count(),
                places.len()
            ));
        }
        if let [first, _, ..] = &places[..] {
            config.lab.placement = first.clone();
            config.jobs = Some(plan::cells::jobs_in(places, config));
        }
        Ok(())
    }
}
