//! Which core runs what.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Cores;

/// Where central runs, and where everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Central's core.
    pub central: usize,
    /// Those of the peers and of the delay line.
    pub peers: Cores,
    /// What central shares with them.
    pub sharing: Sharing,
}

/// What central and the peers have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// No core.
    Nothing,
    /// A physical core, by two of its hardware threads.
    PhysicalCore,
    /// A core.
    Core,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Placement {
            central,
            peers,
            sharing,
        } = self;
        let plural = if peers.iter().nth(1).is_some() {
            "s"
        } else {
            ""
        };
        match sharing {
            Sharing::Nothing => write!(
                f,
                "central alone on core {central}, peers and delay line on core{plural} {peers}"
            ),
            Sharing::PhysicalCore => write!(
                f,
                "central on core {central}, peers and delay line on core{plural} {peers}, which \
                 shares a physical core with central's: they slow each other down"
            ),
            Sharing::Core => write!(
                f,
                "central on core {central}, peers and delay line on core{plural} {peers}: central \
                 shares its core, so its waits include the peers' work"
            ),
        }
    }
}
