//! The process of a cell, seen from who has it measured.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};

use crate::{
    cell::{CellTask, STOP_LINE, Told},
    failure::{ended, last_words},
    signals::Interrupts,
    store::rows::RunRow,
};

pub(crate) struct CellProcess {
    child: Child,
    told: Receiver<Told>,
    last_words: Option<JoinHandle<String>>,
}

/// What there is to show.
pub(crate) enum Heard<'a> {
    Told(&'a Told),
    /// Nothing for a moment.
    Nothing,
    /// The first one, by which the cell is told to stop.
    Interrupt,
}

impl CellProcess {
    pub(crate) fn start(program: &Path, task: &CellTask) -> Result<CellProcess> {
        let mut child = Command::new(program)
            .arg("cell")
            // A key press is for this process alone.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut line = serde_json::to_vec(task)?;
        line.push(b'\n');
        let input = child
            .stdin
            .as_mut()
            .ok_or_else(|| anyhow!("it has no standard input"))?;
        // One that died already is followed like any other, which tells how it ended.
        let _ = input.write_all(&line);
        let output = child
            .stdout
            .take()
            .ok_or_else(|| anyhow!("it has no standard output"))?;
        let mut errors = child
            .stderr
            .take()
            .ok_or_else(|| anyhow!("it has no standard error"))?;
        let (tell, told) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for event in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                if tell.send(event).is_err() {
                    return;
                }
            }
        });
        let last_words = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = errors.read_to_end(&mut text);
            last_words(&String::from_utf8_lossy(&text))
        });
        Ok(CellProcess {
            child,
            told,
            last_words: Some(last_words),
        })
    }

    /// Waits for its end, passes on interrupts, and has `on` hear what happens. None if there were two.
    pub(crate) fn follow(
        &mut self,
        interrupts: &Interrupts,
        mut on: impl FnMut(Heard<'_>) -> Result<()>,
    ) -> Result<Option<RunRow>> {
        const LOOK_AROUND: Duration = Duration::from_millis(100);
        let mut stopping = false;
        loop {
            match self.told.recv_timeout(LOOK_AROUND) {
                Ok(Told::Over(row)) => {
                    self.child.wait()?;
                    return Ok(Some(*row));
                }
                Ok(told) => on(Heard::Told(&told))?,
                Err(RecvTimeoutError::Disconnected) => return Err(self.died()),
                Err(RecvTimeoutError::Timeout) => on(Heard::Nothing)?,
            }
            match interrupts.seen() {
                0 => {}
                1 if stopping => {}
                1 => {
                    stopping = true;
                    on(Heard::Interrupt)?;
                    if let Some(input) = &mut self.child.stdin {
                        // If it is gone already, the next turn says so.
                        let _ = writeln!(input, "{STOP_LINE}");
                    }
                }
                _ => return Ok(None), // The drop ends it.
            }
        }
    }

    fn died(&mut self) -> anyhow::Error {
        let how = self.child.wait().map_or_else(|_| "ended".to_owned(), ended);
        let words = self.last_words.take().and_then(|words| words.join().ok());
        anyhow!("it {how}: {}", words.unwrap_or_default())
    }
}

impl Drop for CellProcess {
    fn drop(&mut self) {
        // With it goes everything in its namespaces.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
