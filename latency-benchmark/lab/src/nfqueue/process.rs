//! The delay line, seen from the process that wires the lab.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    process::{ChildStdout, Command, Stdio},
};

use super::{
    delay_line::{DelayLineConfig, DelayLineReport, NamedNamespace, READY},
    packets::ns,
};
use crate::{LabError, LabSpec, Reaped, child, wiring::Wires};

/// A delay line at work.
#[derive(Debug)]
pub(crate) struct DelayLine {
    child: Reaped,
    output: BufReader<ChildStdout>,
}

impl DelayLine {
    /// Starts a delay line for all links and waits until it is ready.
    pub(crate) fn start(wires: &Wires, spec: &LabSpec) -> Result<DelayLine, LabError> {
        let mut command = Command::new(&spec.delay_line.program);
        command
            .args(&spec.delay_line.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = || -> io::Result<DelayLine> {
            let mut child = child::spawn(&wires.central, &spec.placement.peers, command)?;
            let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
            let mut line = DelayLine { child, output };
            line.configure(&config(wires, spec))?;
            Ok(line)
        };
        let mut line = started().map_err(|error| LabError::DelayLine(error.to_string()))?;
        match line.read_line() {
            Ok(said) if said == READY => Ok(line),
            said => Err(LabError::DelayLine(line.last_words(said))),
        }
    }

    /// Standard input stays open: its end is the delay line's.
    fn configure(&mut self, config: &DelayLineConfig) -> io::Result<()> {
        let mut text = serde_json::to_string(config)?;
        text.push('\n');
        let stdin = self.child.stdin.as_mut().expect("stdin is piped");
        match stdin.write_all(text.as_bytes()) {
            // Then its last words say more.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// What a delay line that said the wrong thing, or nothing, ended with.
    fn last_words(&mut self, said: io::Result<String>) -> String {
        drop(self.child.stdin.take());
        let mut errors = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut errors);
        }
        let status = self.child.wait();
        match (errors.lines().last(), status, said) {
            (Some(error), _, _) => error.to_owned(),
            (None, Ok(status), Ok(said)) if said.is_empty() => format!("it ended with {status}"),
            (None, _, said) => format!("it said {said:?} instead of {READY:?}"),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// An error if it has ended.
    pub(crate) fn check(&mut self) -> Result<(), LabError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(LabError::DelayLineDied(status.to_string())),
            Err(error) => Err(LabError::DelayLineDied(error.to_string())),
        }
    }

    /// Ends it and returns what it did.
    pub(crate) fn finish(mut self) -> Result<DelayLineReport, LabError> {
        self.check()?;
        drop(self.child.stdin.take());
        let said = self.read_line();
        match said
            .as_ref()
            .ok()
            .and_then(|said| serde_json::from_str(said).ok())
        {
            Some(report) => Ok(report),
            None => Err(LabError::DelayLine(self.last_words(said))),
        }
    }
}

fn config(wires: &Wires, spec: &LabSpec) -> DelayLineConfig {
    let names = std::iter::once("central".to_owned())
        .chain((1..=wires.peers.len()).map(|number| format!("peer {number}")));
    DelayLineConfig {
        delay_ns: ns(spec.rtt.one_way()),
        lead_ns: ns(spec.lead),
        cores: spec.placement.peers.clone(),
        namespaces: std::iter::zip(names, wires.namespaces())
            .map(|(name, namespace)| NamedNamespace {
                name,
                path: namespace.path(),
            })
            .collect(),
    }
}
