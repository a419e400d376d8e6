//! The processes of the peers: all started at once, and one of them again where peers come and go.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use lab::{Lab, Reaped, RttReport, Where, time_links};
use program::{Failure, bad_input, ended, ended_saying, last_words, user_tool, wait_within};
use run_format::checksums::of_program;
use run_format::config::{Measurement, RunConfig};
use run_format::network::{LinkRtt, Rtt};
use run_format::protocol::{Listen, PeerElsewhere, PeerTask};
use sha2::{Digest, Sha256};

use super::nodes::{self, errors_in};
use crate::cell_task::CellTask;

const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Peers<'a> {
    task: &'a CellTask,
    peers: Vec<PeerProcess>,
    /// Where their hosts answer TCP connects. Empty in a lab.
    connects: Vec<SocketAddr>,
}

struct PeerProcess {
    /// Or what stands for it on this host.
    process: Reaped,
    /// Where it listens, as central dials it.
    address: String,
    /// If it was started again: until when it has to listen.
    starting: Option<Starting>,
}

struct Starting {
    line: Receiver<String>,
    deadline: Instant,
}

impl<'a> Peers<'a> {
    /// Starts all of them, then waits for the address of each.
    pub(super) fn start(lab: Option<&Lab>, task: &'a CellTask) -> Result<Peers<'a>> {
        let hosts = task.config.lab.peer_hosts.as_ref();
        let own = hosts.map(|_| of_program(&task.peer)).transpose()?;
        let mut waiting = Vec::new();
        for number in 0..task.config.cell.peers {
            let ip = match (lab, hosts) {
                (Some(lab), _) => lab.peer_address(number).into(),
                (None, Some(of)) => of.hosts[number].address,
                (None, None) => bail!("there is neither a lab nor a host for peer {}", number + 1),
            };
            waiting.push(start(lab, task, number, Listen::Ip(ip))?);
        }
        let deadline = Instant::now() + PATIENCE;
        let mut started = Peers {
            task,
            peers: Vec::new(),
            connects: Vec::new(),
        };
        for (number, (process, lines)) in waiting.into_iter().enumerate() {
            let line = || {
                let line = lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
                line.map_err(|_| does_not_listen(task, number))
            };
            if let Some(own) = &own {
                let of_host = elsewhere(&line()?, own).with_context(|| name(task, number))?;
                started.connects.push(of_host.connects);
            }
            started.peers.push(PeerProcess {
                process,
                address: line()?,
                starting: None,
            });
        }
        Ok(started)
    }

    pub(super) fn time_links(&self) -> Result<RttReport> {
        let config = &self.task.config;
        let rtt = config.cell.rtt_ms;
        let report = time_links(&self.connects, rtt, &config.lab.placement);
        report.context("the links could not be measured")
    }

    pub(super) fn addresses(&self) -> Vec<String> {
        self.peers.iter().map(|peer| peer.address.clone()).collect()
    }

    /// On this host.
    pub(super) fn pids(&self) -> Vec<i32> {
        let here = self.peers.iter().filter(|_| self.connects.is_empty());
        let ids = here.map(|peer| i32::try_from(peer.process.child.id()));
        ids.flatten().collect()
    }

    pub(super) fn processes(&self) -> impl Iterator<Item = &Reaped> {
        self.peers.iter().map(|peer| &peer.process)
    }

    /// Stops a peer and starts it again, at the same address and with the same identity.
    pub(super) fn restart(&mut self, lab: Option<&Lab>, number: usize) -> Result<()> {
        let peer = &mut self.peers[number];
        peer.end()?;
        let listen = Listen::Address(peer.address.clone());
        let (process, line) = start(lab, self.task, number, listen)?;
        peer.process = process;
        peer.starting = Some(Starting {
            line,
            deadline: Instant::now() + PATIENCE,
        });
        Ok(())
    }

    /// Whether all of them listen; an error if one is gone, or was started again and does not.
    pub(super) fn listen(&mut self) -> Result<bool> {
        let mut all = true;
        for (number, peer) in self.peers.iter_mut().enumerate() {
            if let Some(starting) = &peer.starting {
                match starting.line.try_recv() {
                    Ok(address) if address == peer.address => peer.starting = None,
                    Ok(address) => bail!(
                        "{} listens at {address} and no longer at {}",
                        name(self.task, number),
                        peer.address
                    ),
                    Err(TryRecvError::Empty) if Instant::now() < starting.deadline => all = false,
                    Err(_) => return Err(does_not_listen(self.task, number)),
                }
            } else if let Some(status) = peer.process.child.try_wait()? {
                bail!("{} {}", name(self.task, number), ended(status));
            }
        }
        Ok(all)
    }

    /// The peers that are gone, how they ended, and their last words.
    pub(super) fn gone(&mut self) -> Vec<String> {
        // Central may notice the death of a peer first, and what stands for one on another host ends after it.
        const MOMENT: Duration = Duration::from_millis(500);
        thread::sleep(MOMENT);
        let task = self.task;
        let ended = |(number, peer): (usize, &mut PeerProcess)| {
            let status = peer.process.child.try_wait().ok().flatten()?;
            let errors = errors_in(&log(&task.dir, number));
            let ended = ended_saying(status, &errors);
            Some(format!("{} {ended}", name(task, number)))
        };
        let peers = self.peers.iter_mut().enumerate();
        peers.filter_map(ended).collect()
    }
}

/// Starts the peers of a run on other hosts, before a sweep has a folder, and times the links to them. The longest round
/// trip is that of the cells, by which the lengths of turns are planned.
pub(crate) fn round_trip(config: &RunConfig, peer: &Path) -> Result<Rtt, Failure> {
    let dir = tempfile::tempdir().context("cannot make a temporary folder")?;
    let peer = peer.canonicalize()?;
    let task = CellTask {
        config: config.clone(),
        central: peer.clone(),
        peer,
        dir: dir.path().to_owned(),
    };
    let time = || -> Result<Rtt> {
        let report = Peers::start(None, &task)?.time_links()?;
        let least = report.links.iter().filter_map(LinkRtt::min_ms);
        // To a whole µs, and never as if there were no link.
        let longest_us = (1e3 * least.fold(1e-3, f64::max)).round();
        Rtt::from_ms(longest_us / 1e3).map_err(Error::msg)
    };
    time().context("--peer-hosts").map_err(bad_input)
}

impl PeerProcess {
    /// What it stands for on another host ends with its input, and then it does, too.
    fn end(&mut self) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(5);
        if self.process.child.stdin.take().is_some() {
            wait_within(&mut self.process.child, PATIENCE)?;
        }
        self.process.child.kill()?;
        self.process.child.wait()?;
        Ok(())
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        // At worst it is killed when its process is dropped.
        let _ = self.end();
    }
}

/// What a peer on another host says first, if it is the program `own`.
fn elsewhere(line: &str, own: &str) -> Result<PeerElsewhere> {
    let said: Option<PeerElsewhere> = serde_json::from_str(line).ok();
    let said = said.with_context(|| format!("the command that starts it prints {line:?}"))?;
    ensure!(
        said.sha256 == own,
        "the node program on its host is another one than here (copy it there)"
    );
    Ok(said)
}

fn name(task: &CellTask, number: usize) -> String {
    let hosts = task.config.lab.peer_hosts.as_ref();
    let host = hosts.map_or_else(String::new, |of| format!(" on {}", of.hosts[number].name));
    format!("peer {}{host}", number + 1)
}

/// The program of a peer, to be started on its host.
fn program(task: &CellTask, number: usize) -> Command {
    let Some(of) = &task.config.lab.peer_hosts else {
        return Command::new(&task.peer);
    };
    let host = &of.hosts[number].name;
    let mut words = of.command.iter().map(|word| word.replace("{host}", host));
    let mut command = Command::new(user_tool(&words.next().unwrap_or_default()));
    command.args(words).arg(&task.peer);
    command
}

fn log(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("peer-{}.log", number + 1))
}

fn does_not_listen(task: &CellTask, number: usize) -> anyhow::Error {
    let name = name(task, number);
    match last_words(&errors_in(&log(&task.dir, number))) {
        Some(words) => anyhow!("{name} does not listen: {words}"),
        None => anyhow!("{name} does not listen"),
    }
}

/// With the process, the lines that will say where it listens.
fn start(
    lab: Option<&Lab>,
    task: &CellTask,
    number: usize,
    listen: Listen,
) -> Result<(Reaped, Receiver<String>)> {
    const FEW: usize = 16;
    let config = &task.config;
    let place = (Where::Peer(number), &config.lab.placement);
    let log = log(&task.dir, number);
    let mut process = nodes::start(lab, place, program(task, number), "peer", &log)?;
    if let Some(mut input) = process.child.stdin.take() {
        let is_restarted = matches!(config.measurement, Measurement::Soak(_));
        let task = PeerTask {
            node: config.node,
            load: config.load,
            measurement: config.measurement.clone(),
            listen,
            identity: is_restarted.then(|| identity(config.seed, number)),
            elsewhere: lab.is_none(),
        };
        // A peer that died already is found where its line is waited for.
        let _ = writeln!(input, "{}", serde_json::to_string(&task)?);
        process.child.stdin = lab.is_none().then_some(input);
    }
    let output = process.child.stdout.take();
    let output = output.context("it has no standard output")?;
    let (sender, lines) = sync_channel(FEW);
    thread::Builder::new().spawn(move || {
        for line in program::lines(output) {
            // Holds the pipe open, even if nobody waits for a line any more.
            let _ = sender.try_send(line);
        }
    })?;
    Ok((process, lines))
}

/// The seed of a key, so that a restarted peer is the same to central. It need not be secret.
fn identity(seed: u64, number: usize) -> [u8; 32] {
    Sha256::digest(format!("peer {number} of {seed}")).into()
}
