//! Delays packets on kernels without netem.
//!
//! A rule in each namespace sends every packet that arrives over a link to a queue. The kernel keeps the
//! packet there until a process releases it. That process, the delay line, releases it after half of the
//! round-trip time. Packets are held where they arrive, not where they leave: a sent packet counts against
//! its socket until it reaches the other side, so holding it at the sender would throttle TCP.

pub mod delay_line;
mod queue;

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdout, Command, Stdio};

use anyhow::{Context, Result, anyhow};

use self::delay_line::{DelayLineConfig, READY, ns};
use self::queue::PacketQueue;
pub(crate) use self::queue::{numbers, user_dropped};
use crate::netns::{Netns, SET_UP};
use crate::tool::{MissingTool, SystemTool, run_all};
use crate::wiring::Wires;
use crate::{Inside, KillOnDrop, LabSpec, child};
use run_format::DelayLineReport;

/// Sends every packet that arrives to the queue, unless it arrives over `lo`.
///
/// With `--queue-bypass`, packets would get through without any delay after the delay line died. Without
/// it the kernel drops them, so a run that lost its delay cannot look like a fast one.
#[rustfmt::skip]
const ARGUMENTS: [&str; 12] = [
    "-w", "-t", "mangle", "-A", "PREROUTING", "!", "-i", "lo", "-j", "NFQUEUE", "--queue-num", "0",
];

/// The variants of the tool. `iptables` is one of the other two, depending on the machine. Not every kernel
/// supports both, so the first one that works in a temporary namespace is used.
const VARIANTS: [&str; 3] = ["iptables", "iptables-nft", "iptables-legacy"];

pub(crate) fn hold_packets(iptables: &SystemTool, wires: &Wires) -> Result<()> {
    let hold = |namespace: &&Netns| iptables.run(namespace, &ARGUMENTS, "");
    run_all(wires.namespaces(), hold).map(drop)
}

/// The first variant of the tool that works. It is tried in a temporary namespace, and so is the queue.
pub(crate) fn probe(inside: Inside) -> Result<SystemTool> {
    let scratch = Netns::scratch(inside).context(SET_UP)?;
    let mut errors = Vec::new();
    for name in VARIANTS {
        let tried = || -> Result<SystemTool> {
            let tool = SystemTool::find(name)?;
            tool.run(&scratch, &ARGUMENTS, "")?;
            Ok(tool)
        };
        match tried() {
            Ok(iptables) => {
                const NO_QUEUE: &str = "the kernel provides no packet queue (NFQUEUE); the module nfnetlink_queue may be missing";
                scratch.run(PacketQueue::bind).context(NO_QUEUE)?;
                return Ok(iptables);
            }
            Err(error) => errors.push(error),
        }
    }
    // The error is that of the first installed variant, or of the first variant if none is installed.
    let installed = errors.iter().position(|error| !error.is::<MissingTool>());
    Err(errors.swap_remove(installed.unwrap_or(0)))
}

#[derive(Debug)]
pub(crate) struct DelayLineProcess {
    process: KillOnDrop,
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
        // The input stays open, since the delay line ends with it.
        let stdin = process.child.stdin.as_mut().expect("stdin is piped");
        // If the delay line has ended already, its last words say why.
        let _ = writeln!(stdin, "{config}");
        let mut line = DelayLineProcess { process, output };
        match line.read_line().trim_end() {
            READY => Ok(line),
            _ => Err(failed(line.last_words())),
        }
    }

    /// The next line of the delay line's output. It is empty at the end of the output.
    fn read_line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.output.read_line(&mut line);
        line
    }

    /// The reason why the delay line did not print the expected line: its last error, or else how it ended.
    fn last_words(&mut self) -> String {
        drop(self.process.child.stdin.take());
        let mut errors = String::new();
        if let Some(mut stderr) = self.process.child.stderr.take() {
            let _ = stderr.read_to_string(&mut errors);
        }
        match self.process.child.wait() {
            Ok(status) => format!("it {}", program::how_it_ended_and_why(status, &errors)),
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
                program::how_it_ended(status)
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
