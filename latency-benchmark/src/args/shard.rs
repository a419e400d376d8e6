//! Which part of a sweep this machine measures.

use std::env;

use run_format::shard::Shard;

/// The accepted forms, for help texts and errors.
pub(crate) const SHARD_FORMS: &str =
    "2/8, slurm (the task of a job with --array=1-N), kubernetes/8 (the index of an Indexed Job)";

/// A part as it is typed, or as a cluster's scheduler numbers it.
pub(crate) fn shard(text: &str) -> Result<Shard, String> {
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
    let numbers = index.parse::<u32>().ok().zip(of.parse().ok());
    numbers
        .map(|(index, of)| (index.wrapping_sub(first), of))
        .filter(|(before, of)| before < of)
        .map(|(before, of)| Shard {
            index: before + 1,
            of,
        })
        .ok_or_else(|| format!("part {index} of {of}: there is none (accepted: {SHARD_FORMS})"))
}
