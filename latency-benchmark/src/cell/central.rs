//! The process of central, seen from its cell.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use lab::{Lab, Reaped, Where};
use program::ended;
use run_format::protocol::{CentralTask, NodeMessage, OtherProcesses};

use super::nodes::{last_words_in, node};
use crate::{cell_process::CellTask, conversation::Conversation};

pub(super) struct CentralProcess {
    process: Reaped,
    pub(super) conversation: Conversation<NodeMessage>,
}

impl CentralProcess {
    pub(super) fn start(
        lab: &Lab,
        task: &CellTask,
        peers: Vec<String>,
        others: OtherProcesses,
    ) -> Result<CentralProcess> {
        let command = node(&task.central, "central", &log(&task.dir))?;
        let mut process = lab.spawn_placed(Where::Central, command)?;
        let task = CentralTask {
            config: task.config.clone(),
            dir: task.dir.clone(),
            peers,
            others,
        };
        let conversation = Conversation::begin(&mut process, &task)?;
        Ok(CentralProcess {
            process,
            conversation,
        })
    }

    /// Waits for the end, which its closed output has announced.
    pub(super) fn end(&mut self) -> Result<()> {
        let status = self.process.wait()?;
        if !status.success() {
            bail!("central {}", ended(status));
        }
        Ok(())
    }
}

/// Why it ended, from its log.
pub(super) fn last_words_of_central(dir: &Path) -> String {
    last_words_in(&log(dir))
}

fn log(dir: &Path) -> PathBuf {
    dir.join("central.log")
}
