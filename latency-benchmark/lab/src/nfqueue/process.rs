//! Starts and ends the delay line.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdout, Command, Stdio};

use anyhow::{Result, anyhow};

use super::delay_line::{DelayLineConfig, READY};
use super::packets::ns;
use crate::netns::Netns;
use crate::wiring::Wires;
use crate::{DelayLineReport, LabSpec, Reaped, child};

#[derive(Debug)]
pub(crate) struct DelayLineProcess {
    process: Reaped,
    output: BufReader<ChildStdout>,
}

impl DelayLineProcess {
    /// Starts a delay line for all links and waits until it is ready. It is this program again, with the
    /// argument `delay-line`.
    pub(crate) fn start(wires: &Wires, spec: &LabSpec) -> Result<DelayLineProcess> {
        let mut command = Command::new("/proc/self/exe");
        command
            .arg("delay-line")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let cores = &spec.network.placement.peers;
        let mut process = child::spawn(Some(&wires.central), cores, command).map_err(failed)?;
        let output = BufReader::new(process.child.stdout.take().expect("stdout is piped"));
        let config = serde_json::to_string(&DelayLineConfig {
            delay_ns: ns(spec.rtt.one_way()),
            cores: cores.clone(),
            namespaces: wires.namespaces().map(Netns::path).collect(),
        })?;
        // It stays open, since its end would end the delay line.
        let stdin = process.child.stdin.as_mut().expect("stdin is piped");
        // If it has ended already, its last words say why.
        let _ = writeln!(stdin, "{config}");
        let mut line = DelayLineProcess { process, output };
        match line.read_line().trim_end() {
            READY => Ok(line),
            _ => Err(failed(line.last_words())),
        }
    }

    /// Empty at its end.
    fn read_line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.output.read_line(&mut line);
        line
    }

    /// Why the delay line did not print the expected line: its last error, or else how it ended.
    fn last_words(&mut self) -> String {
        drop(self.process.child.stdin.take());
        let mut errors = String::new();
        if let Some(mut stderr) = self.process.child.stderr.take() {
            let _ = stderr.read_to_string(&mut errors);
        }
        match self.process.child.wait() {
            Ok(status) => format!("it {}", program::ended_saying(status, &errors)),
            Err(error) => error.to_string(),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.child.id()
    }

    pub(crate) fn check(&mut self) -> Result<()> {
        match self.process.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(anyhow!(
                "the delay line {}, so no packet gets through any more",
                program::ended(status)
            )),
            Err(error) => Err(failed(error)),
        }
    }

    pub(crate) fn finish(mut self) -> Result<DelayLineReport> {
        self.check()?;
        drop(self.process.child.stdin.take());
        let report = serde_json::from_str(&self.read_line());
        report.map_err(|_| failed(self.last_words()))
    }
}

fn failed(why: impl Display) -> anyhow::Error {
    anyhow!("the delay line failed: {why}")
}
