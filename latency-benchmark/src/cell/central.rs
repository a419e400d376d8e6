//! The process of central, seen from its cell.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::Stdio,
    sync::mpsc::{Receiver, channel},
    thread,
};

use anyhow::{Result, anyhow, bail};
use lab::{Lab, Reaped, Where};

use super::{
    CellTask, CentralTask, STOP_LINE, Told,
    nodes::{last_words, node},
};
use crate::{failure::ended, slices::Others};

pub(super) struct Central {
    process: Reaped,
    pub(super) told: Receiver<Told>,
    stopped: bool,
}

impl Central {
    pub(super) fn start(
        lab: &Lab,
        task: &CellTask,
        peers: Vec<String>,
        others: Others,
    ) -> Result<Central> {
        let mut command = node("central", &log(&task.dir))?;
        command.arg("--task").stdin(Stdio::piped());
        let mut process = lab.spawn_placed(Where::Central, command)?;
        let task = CentralTask {
            config: task.config.clone(),
            soak: task.soak,
            dir: task.dir.clone(),
            peers,
            others,
        };
        let mut line = serde_json::to_vec(&task)?;
        line.push(b'\n');
        let input = process
            .stdin
            .as_mut()
            .ok_or_else(|| anyhow!("central has no standard input"))?;
        // One that died already is followed like any other, which tells how it ended.
        let _ = input.write_all(&line);
        let output = process
            .stdout
            .take()
            .ok_or_else(|| anyhow!("central has no standard output"))?;
        let (tell, told) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                match serde_json::from_str(&line) {
                    Ok(event) => drop(tell.send(event)),
                    Err(_) => eprintln!("central: {line}"),
                }
            }
        });
        Ok(Central {
            process,
            told,
            stopped: false,
        })
    }

    pub(super) fn stop(&mut self) {
        if !std::mem::replace(&mut self.stopped, true)
            && let Some(input) = &mut self.process.stdin
        {
            // If it is gone already, the next turn says so.
            let _ = writeln!(input, "{STOP_LINE}");
        }
    }

    /// Waits for the end, which its closed output has announced.
    pub(super) fn end(&mut self) -> Result<()> {
        let status = self.process.wait()?;
        if status.success() {
            Ok(())
        } else {
            bail!("central {}", ended(status))
        }
    }
}

/// Why it ended, from its log.
pub(super) fn last_words_of_central(dir: &Path) -> String {
    last_words(&log(dir))
}

fn log(dir: &Path) -> PathBuf {
    dir.join("central.log")
}
