//! Which core runs what.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Cores;

/// Where central runs, and where everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Central's core; of several, the first.
    pub central: usize,
    /// All of central's cores, if there are several: one for each worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<Cores>,
    /// Those of the peers and of the delay line.
    pub peers: Cores,
    pub sharing: Sharing,
}

/// What central and the peers have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    Nothing,
    /// A physical core, by two of its hardware threads.
    PhysicalCore,
    Core,
}

impl Placement {
    pub fn central_cores(&self) -> Cores {
        let several = self.workers.clone();
        several.unwrap_or_else(|| Cores::one(self.central))
    }

    /// What is amiss if so many workers have fewer cores.
    pub fn too_few_cores(&self, workers: usize) -> Option<String> {
        let cores = self.central_cores();
        (cores.count() < workers).then(|| {
            format!(
                "there are too few cores: central's {workers} workers share {}, and wait for each other",
                cores.in_words()
            )
        })
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alone = match self.sharing {
            Sharing::Nothing => " alone",
            Sharing::PhysicalCore | Sharing::Core => "",
        };
        let central = self.central_cores().in_words();
        let peers = self.peers.in_words();
        write!(
            f,
            "central{alone} on {central}, peers and delay line on {peers}"
        )?;
        f.write_str(match self.sharing {
            Sharing::Nothing => "",
            Sharing::PhysicalCore => {
                ", which shares a physical core with central's: they slow each other down"
            }
            Sharing::Core => ": central shares its core, so its waits include the peers' work",
        })
    }
}
