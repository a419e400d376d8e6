//! Where results go, and the seed of all random choices.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use program::{Failure, reject};

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
