//! Starts and ends the delay line.

use std::{
    fmt::Display,
    io::{self, BufRead, BufReader, Read, Write},
    process::{ChildStdout, Command, Stdio},
};

use anyhow::{Result, anyhow};

use super::{
    delay_line::{DelayLineConfig, READY},
    packets::ns,
};
use crate::{DelayLineReport, LabSpec, Reaped, child, netns::Netns, wiring::Wires};

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
        let started = || -> io::Result<DelayLineProcess> {
            let mut process =
                child::spawn(Some(&wires.central), &spec.network.placement.peers, command)?;
            let output = BufReader::new(process.child.stdout.take().expect("stdout is piped"));
            let mut line = DelayLineProcess { process, output };
            line.configure(&DelayLineConfig {
                delay_ns: ns(spec.rtt.one_way()),
                cores: spec.network.placement.peers.clone(),
                namespaces: wires.namespaces().map(Netns::path).collect(),
            })?;
            Ok(line)
        };
        let mut line = started().map_err(failed)?;
        match line.read_line() {
            Ok(said) if said == READY => Ok(line),
            _ => Err(failed(line.last_words())),
        }
    }

    /// Sends the configuration. Standard input stays open, since its end would end the delay line.
    fn configure(&mut self, config: &DelayLineConfig) -> io::Result<()> {
        let mut text = serde_json::to_string(config)?;
        text.push('\n');
        let stdin = self.process.child.stdin.as_mut().expect("stdin is piped");
        match stdin.write_all(text.as_bytes()) {
            // It has ended; `last_words` says why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
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
        let report = self
            .read_line()
            .map(|line| serde_json::from_str(&line).ok());
        match report {
            Ok(Some(report)) => Ok(report),
            _ => Err(failed(self.last_words())),
        }
    }
}

fn failed(why: impl Display) -> anyhow::Error {
    anyhow!("the delay line failed: {why}")
}
