//! The processes of the peers: all started at once, and one of them again where peers come and go.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, bail};
use lab::{Lab, Reaped, Where};
use program::{ended, ended_saying, last_words};
use run_format::{
    config::Measurement,
    protocol::{Listen, PeerTask},
};
use sha2::{Digest, Sha256};

use super::nodes::{errors_in, node, pid};
use crate::cell_process::CellTask;

/// How long a peer may take until it listens.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Peers<'a> {
    task: &'a CellTask,
    peers: Vec<PeerProcess>,
}

struct PeerProcess {
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
    pub(super) fn start(lab: &Lab, task: &'a CellTask) -> Result<Peers<'a>> {
        let mut waiting = Vec::new();
        for number in 0..task.config.cell.peers {
            let listen = Listen::Ip(lab.peer_address(number).into());
            waiting.push(start(lab, task, number, listen)?);
        }
        let deadline = Instant::now() + PATIENCE;
        let peers = waiting
            .into_iter()
            .enumerate()
            .map(|(number, (process, line))| {
                let line = line.recv_timeout(deadline.saturating_duration_since(Instant::now()));
                let address = line.map_err(|_| does_not_listen(&task.dir, number))?;
                Ok(PeerProcess {
                    process,
                    address,
                    starting: None,
                })
            });
        let peers = peers.collect::<Result<_>>()?;
        Ok(Peers { task, peers })
    }

    pub(super) fn addresses(&self) -> Vec<String> {
        self.peers.iter().map(|peer| peer.address.clone()).collect()
    }

    pub(super) fn pids(&self) -> Vec<i32> {
        self.peers.iter().map(|peer| pid(&peer.process)).collect()
    }

    /// Stops a peer and starts it again, at the same address and with the same identity.
    pub(super) fn restart(&mut self, lab: &Lab, number: usize) -> Result<()> {
        let peer = &mut self.peers[number];
        peer.process.kill()?;
        peer.process.wait()?;
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
                        "peer {} listens at {address} and no longer at {}",
                        number + 1,
                        peer.address
                    ),
                    Err(TryRecvError::Empty) if Instant::now() < starting.deadline => all = false,
                    Err(_) => return Err(does_not_listen(&self.task.dir, number)),
                }
            } else if let Some(status) = peer.process.try_wait()? {
                bail!("peer {} {}", number + 1, ended(status));
            }
        }
        Ok(all)
    }

    /// The peers that are gone, how they ended, and their last words.
    pub(super) fn gone(&mut self) -> Vec<String> {
        let dir = &self.task.dir;
        let ended = |(number, peer): (usize, &mut PeerProcess)| {
            let status = peer.process.try_wait().ok().flatten()?;
            let errors = errors_in(&log(dir, number));
            Some(format!(
                "peer {} {}",
                number + 1,
                ended_saying(status, &errors)
            ))
        };
        self.peers
            .iter_mut()
            .enumerate()
            .filter_map(ended)
            .collect()
    }
}

fn log(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("peer-{}.log", number + 1))
}

fn does_not_listen(dir: &Path, number: usize) -> anyhow::Error {
    let words = last_words(&errors_in(&log(dir, number)));
    let words = words.map_or_else(String::new, |words| format!(": {words}"));
    anyhow!("peer {} does not listen{words}", number + 1)
}

/// With the process, the line that will name its address.
fn start(
    lab: &Lab,
    task: &CellTask,
    number: usize,
    listen: Listen,
) -> Result<(Reaped, Receiver<String>)> {
    let command = node(&task.peer, "peer", &log(&task.dir, number))?;
    let mut process = lab.spawn_placed(Where::Peer(number), command)?;
    if let Some(mut input) = process.stdin.take() {
        let config = &task.config;
        let is_restarted = matches!(config.measurement, Measurement::Soak(_));
        let task = PeerTask {
            node: config.node,
            load: config.load,
            measurement: config.measurement.clone(),
            listen,
            identity: is_restarted.then(|| identity(config.seed, number)),
        };
        // A peer that died already is found where its line is waited for.
        let _ = serde_json::to_writer(&mut input, &task);
    }
    let line = first_line(&mut process)?;
    Ok((process, line))
}

/// The seed of a key, so that a restarted peer is the same to central. It need not be secret.
fn identity(seed: u64, number: usize) -> [u8; 32] {
    Sha256::digest(format!("peer {number} of {seed}")).into()
}

/// The first line that a child prints. Nothing comes if it ends without one.
fn first_line(child: &mut Reaped) -> Result<Receiver<String>> {
    let (sender, receiver) = channel();
    if let Some(output) = child.stdout.take() {
        thread::Builder::new().spawn(move || {
            let mut lines = BufReader::new(output).lines();
            if let Some(Ok(line)) = lines.next() {
                let _ = sender.send(line);
            }
            // Holds the pipe open: a peer prints nothing more, but must not find it broken.
            lines.for_each(drop);
        })?;
    }
    Ok(receiver)
}
