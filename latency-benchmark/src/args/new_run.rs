//! Where results go, and the seed of all random choices.

use std::path::PathBuf;

use clap::Args;
use program::Failure;

use crate::results_folder;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Results")]
pub(crate) struct NewRunArgs {
    /// Seed for the random order [default: a random one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// The folder for runs
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// The run's name, a new folder there [default: date and time]
    #[arg(long)]
    name: Option<String>,
}

impl NewRunArgs {
    /// A random seed has 32 bits, which every reader of JSON holds exactly.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
            .unwrap_or_else(|| u64::from(rand::random::<u32>()))
    }

    pub(crate) fn dir(&self) -> Result<PathBuf, Failure> {
        Ok(self.out.join(results_folder::name(self.name.clone())?))
    }
}
