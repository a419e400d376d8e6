//! The processes of the peers: all started at once, and one of them again where peers come and go.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::Stdio,
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, bail};
use lab::{Lab, Reaped, Where};
use sha2::{Digest, Sha256};

use super::{
    CellTask,
    nodes::{last_words, node, pid},
};
use crate::{config::Transport, failure::ended, node::peer::PeerTask};

/// How long a peer may take until it listens.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Peers<'a> {
    task: &'a CellTask,
    peers: Vec<Peer>,
}

struct Peer {
    process: Reaped,
    /// Where it listens, as central dials it.
    address: String,
    /// Until when it has to say so again, if it was started again.
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
            let address = lab.peer_address(number);
            let listen = match task.config.node.transport {
                Transport::Tcp => format!("/ip4/{address}/tcp/0"),
                Transport::Quic => format!("/ip4/{address}/udp/0/quic-v1"),
            };
            waiting.push(start(lab, task, number, &listen)?);
        }
        let deadline = Instant::now() + PATIENCE;
        let peers = waiting
            .into_iter()
            .enumerate()
            .map(|(number, (process, line))| {
                let line = line.recv_timeout(deadline.saturating_duration_since(Instant::now()));
                let address = line.map_err(|_| does_not_listen(&task.dir, number))?;
                Ok(Peer {
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
        let listen = match peer.address.rsplit_once("/p2p/") {
            Some((listen, _)) => listen,
            None => &peer.address,
        };
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
                        "peer {} listens at {address} and no more at {}",
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

    /// Who is gone, how, and with which last words.
    pub(super) fn gone(&mut self) -> Vec<String> {
        let dir = &self.task.dir;
        let ended = |(number, peer): (usize, &mut Peer)| {
            let status = peer.process.try_wait().ok().flatten()?;
            let words = last_words(&log(dir, number));
            Some(format!("peer {} {}: {words}", number + 1, ended(status)))
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
    let words = last_words(&log(dir, number));
    anyhow!("peer {} does not listen: {words}", number + 1)
}

/// With the process, the line in which it will say where it listens.
fn start(
    lab: &Lab,
    task: &CellTask,
    number: usize,
    listen: &str,
) -> Result<(Reaped, Receiver<String>)> {
    let mut command = node("peer", &log(&task.dir, number))?;
    command
        .args(["--listen", listen, "--config"])
        .stdin(Stdio::piped());
    let mut process = lab.spawn_placed(Where::Peer(number), command)?;
    if let Some(mut input) = process.stdin.take() {
        let task = PeerTask {
            node: task.config.node,
            load: task.config.load,
            identity: task
                .soak
                .is_some()
                .then(|| identity(task.config.seed, number)),
        };
        // A peer that is gone already says why to whoever waits for its line.
        let _ = serde_json::to_writer(&mut input, &task);
    }
    let line = first_line(&mut process);
    Ok((process, line))
}

/// By which a peer that was started again is the same to central. It keeps nobody out of anything.
fn identity(seed: u64, number: usize) -> [u8; 32] {
    Sha256::digest(format!("peer {number} of {seed}")).into()
}

/// The first line that a child prints. Nothing comes if it ends without one.
fn first_line(child: &mut Reaped) -> Receiver<String> {
    let (tell, told) = channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            let mut lines = BufReader::new(output).lines();
            if let Some(Ok(line)) = lines.next() {
                let _ = tell.send(line);
            }
            // Holds the pipe open; a peer says no more, but must not find it broken.
            lines.for_each(drop);
        });
    }
    told
}
