//! The process of central, seen from its cell.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use lab::{Lab, Where};
use program::{ended_saying, last_words, wait_within};
use run_format::protocol::{CentralTask, NodeMessage, OtherProcesses};

use super::nodes::{errors_in, start};
use crate::cell_task::CellTask;
use crate::conversation::Conversation;

pub(super) struct CentralProcess {
    log: PathBuf,
    pub(super) conversation: Conversation<NodeMessage>,
}

impl CentralProcess {
    pub(super) fn start(
        lab: Option<&Lab>,
        task: &CellTask,
        peers: Vec<String>,
        others: OtherProcesses,
    ) -> Result<CentralProcess> {
        let log = task.dir.join("central.log");
        let place = (Where::Central, &task.config.lab.placement);
        let program = Command::new(&task.central);
        let process = start(lab, place, program, "central", &log)?;
        let task = CentralTask {
            config: task.config.clone(),
            dir: task.dir.clone(),
            peers,
            others,
        };
        let conversation = Conversation::begin(process, &task)?;
        Ok(CentralProcess { log, conversation })
    }

    /// Waits for the end, which its closed output has announced.
    pub(super) fn end(&mut self) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(20);
        let Some(status) = wait_within(&mut self.conversation.process.child, PATIENCE)? else {
            bail!("central closed its output and did not end");
        };
        if !status.success() {
            bail!("central {}", ended_saying(status, &errors_in(&self.log)));
        }
        Ok(())
    }

    pub(super) fn last_words(&self) -> Option<String> {
        last_words(&errors_in(&self.log))
    }
}
