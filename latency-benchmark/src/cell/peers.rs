//! The processes of the peers. A run starts all of them at once, and a soak restarts one from time to time.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use lab::{KillOnDrop, Lab, NodePlace, cores_for_peer, time_links};
use program::{
    Failure, bad_input, how_it_ended, how_it_ended_and_why, interrupts_seen, last_words, user_tool,
    wait_within,
};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use run_format::checksums::sha256_of_program;
use run_format::{
    Churn, LinkRtt, Listen, Measurement, PeerElsewhere, PeerTask, Rtt, RttReport, RunConfig,
};
use sha2::{Digest, Sha256};

use super::nodes::{self, errors_in};
use super::task::{CellPrograms, CellTask};

/// The time that a peer may take until it listens.
const STARTING: Duration = Duration::from_secs(20);

pub(super) struct Peers<'a> {
    task: &'a CellTask,
    peers: Vec<PeerProcess>,
    /// The page that tells peers which variant is in force. None if they are on other hosts.
    page: Option<File>,
    /// The addresses at which the hosts of the peers answer TCP connects. Empty in a lab.
    connects: Vec<SocketAddr>,
}

struct PeerProcess {
    /// The name in messages. It includes the host if that is another one.
    name: String,
    log: PathBuf,
    /// The peer's process. With --peer-hosts it is the local command that runs the peer, such as ssh.
    process: KillOnDrop,
    lines: Receiver<String>,
    /// The address that central dials.
    address: String,
    /// The time by which a restarted peer has to listen. None once it listens.
    deadline: Option<Instant>,
}

impl<'a> Peers<'a> {
    /// Starts all peers, then waits for the address of each.
    pub(super) fn start(lab: Option<&Lab>, task: &'a CellTask) -> Result<Peers<'a>> {
        let hosts = task.config.lab.peer_hosts.as_ref();
        let own_sha256 = hosts
            .map(|_| sha256_of_program(&task.programs.peer))
            .transpose()?;
        let mut started = Peers {
            task,
            peers: Vec::new(),
            page: lab.map(|_| nodes::shared_page()).transpose()?,
            connects: Vec::new(),
        };
        let page = started.page();
        for number in 0..task.config.cell.peers {
            let ip = match hosts {
                Some(hosts) => hosts.hosts[number].address,
                None => lab.context("there is no lab")?.peer_address(number).into(),
            };
            let peer = PeerProcess::start(lab, page, task, number, Listen::Ip(ip))?;
            started.peers.push(peer);
        }
        let deadline = Instant::now() + STARTING;
        for peer in &mut started.peers {
            if let Some(sha256) = &own_sha256 {
                let found = peer_elsewhere(&peer.next_line(deadline)?, sha256);
                let found = found.with_context(|| peer.name.clone())?;
                started.connects.push(found.connects);
            }
            peer.address = peer.next_line(deadline)?;
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

    /// The number of the file by which the processes of the cell inherit the page.
    pub(super) fn page(&self) -> Option<RawFd> {
        self.page.as_ref().map(File::as_raw_fd)
    }

    /// The process numbers of the peers on this host.
    pub(super) fn pids(&self) -> Vec<i32> {
        let here = self.peers.iter().filter(|_| self.connects.is_empty());
        let ids = here.map(|peer| i32::try_from(peer.process.child.id()));
        ids.flatten().collect()
    }

    pub(super) fn processes(&self) -> impl Iterator<Item = &KillOnDrop> {
        self.peers.iter().map(|peer| &peer.process)
    }

    /// Stops a peer and starts it again, at the same address and with the same identity.
    pub(super) fn restart(&mut self, lab: Option<&Lab>, number: usize) -> Result<()> {
        let page = self.page();
        let peer = &mut self.peers[number];
        peer.end()?;
        let listen = Listen::Address(peer.address.clone());
        let mut again = PeerProcess::start(lab, page, self.task, number, listen)?;
        again.address = peer.address.clone();
        again.deadline = Some(Instant::now() + STARTING);
        *peer = again;
        Ok(())
    }

    /// Whether all peers listen. Fails if one has ended, or was restarted and does not listen in time.
    pub(super) fn all_listen(&mut self) -> Result<bool> {
        let mut all_listen = true;
        for peer in &mut self.peers {
            let name = &peer.name;
            if let Some(deadline) = peer.deadline {
                match peer.lines.try_recv() {
                    Ok(address) if address == peer.address => peer.deadline = None,
                    Ok(address) => {
                        bail!(
                            "{name} listens at {address} and no longer at {}",
                            peer.address
                        )
                    }
                    Err(TryRecvError::Empty) if Instant::now() < deadline => all_listen = false,
                    Err(_) => return Err(peer.does_not_listen()),
                }
            } else if let Some(status) = peer.process.child.try_wait()? {
                bail!("{name} {}", how_it_ended(status));
            }
        }
        Ok(all_listen)
    }

    /// Describes each peer that has ended: how it ended, and its last words.
    pub(super) fn descriptions_of_ended(&mut self) -> Vec<String> {
        // Central may notice the death of a peer before this process does, and ssh ends after the peer on the other host.
        const MOMENT: Duration = Duration::from_millis(500);
        thread::sleep(MOMENT);
        let description = |peer: &mut PeerProcess| {
            let status = peer.process.child.try_wait().ok().flatten()?;
            let ended = how_it_ended_and_why(status, &errors_in(&peer.log));
            Some(format!("{} {ended}", peer.name))
        };
        self.peers.iter_mut().filter_map(description).collect()
    }
}

/// Starts the peers of a run on other hosts and times the links to them, before a sweep has a folder. Returns the longest
/// round trip, by which the lengths of turns are planned.
pub(crate) fn round_trip(config: &RunConfig, peer: &Path) -> Result<Rtt, Failure> {
    let dir = tempfile::tempdir().context("cannot make a temporary folder")?;
    let peer = peer.canonicalize()?;
    let task = CellTask {
        config: config.clone(),
        programs: CellPrograms {
            central: peer.clone(),
            peer,
        },
        dir: dir.path().to_owned(),
    };
    let time = || -> Result<Rtt> {
        let report = Peers::start(None, &task)?.time_links()?;
        let least = report.links.iter().filter_map(LinkRtt::min_ms);
        // The result is a whole number of µs and never zero.
        let longest_us = (1e3 * least.fold(1e-3, f64::max)).round();
        Rtt::from_ms(longest_us / 1e3).map_err(Error::msg)
    };
    time().context("--peer-hosts").map_err(bad_input)
}

impl PeerProcess {
    fn start(
        lab: Option<&Lab>,
        page: Option<RawFd>,
        task: &CellTask,
        number: usize,
        listen: Listen,
    ) -> Result<PeerProcess> {
        let config = &task.config;
        let (name, command) = command_of_peer(task, number);
        let log = task.dir.join(format!("peer-{}.log", number + 1));
        let cores = cores_for_peer(number, config.cell.peers, &config.lab.placement);
        let mut process = nodes::start(lab, NodePlace::Peer(number), &cores, command, &log)?;
        if let Some(mut input) = process.child.stdin.take() {
            let is_elsewhere = lab.is_none();
            let task = task_of_peer(config, number, listen, is_elsewhere, page);
            // If the peer has died already, waiting for its address finds that out.
            let _ = writeln!(input, "{}", serde_json::to_string(&task)?);
            // A peer on another host ends with its standard input, so that stays open. In a lab it is closed now.
            process.child.stdin = is_elsewhere.then_some(input);
        }
        let output = process.child.stdout.take();
        Ok(PeerProcess {
            name,
            log,
            process,
            lines: read_lines(output.context("it has no standard output")?)?,
            address: String::new(),
            deadline: None,
        })
    }

    fn next_line(&self, deadline: Instant) -> Result<String> {
        const LOOK_AROUND: Duration = Duration::from_millis(100);
        loop {
            match self.lines.recv_timeout(LOOK_AROUND) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Timeout)
                    if Instant::now() < deadline && interrupts_seen() == 0 => {}
                Err(_) => return Err(self.does_not_listen()),
            }
        }
    }

    fn does_not_listen(&self) -> Error {
        match last_words(&errors_in(&self.log)) {
            Some(words) => anyhow!("{} does not listen: {words}", self.name),
            None => anyhow!("{} does not listen", self.name),
        }
    }

    /// Ends the process. Closing its standard input ends a peer on another host, and then ssh ends.
    fn end(&mut self) -> Result<()> {
        const ENDING: Duration = Duration::from_secs(5);
        if self.process.child.stdin.take().is_some() {
            wait_within(&mut self.process.child, ENDING)?;
        }
        self.process.child.kill()?;
        self.process.child.wait()?;
        Ok(())
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        // If this fails, dropping the process kills it.
        let _ = self.end();
    }
}

/// The name of a peer in messages, and the command that runs it here or on its host.
fn command_of_peer(task: &CellTask, number: usize) -> (String, Command) {
    let (mut name, program) = (format!("peer {}", number + 1), &task.programs.peer);
    let mut command = Command::new(program);
    if let Some(hosts) = &task.config.lab.peer_hosts {
        let host = &hosts.hosts[number].name;
        name += &format!(" on {host}");
        let filled_in = |word: &String| word.replace("{host}", host);
        let mut words = hosts.command.iter().map(filled_in);
        command = Command::new(user_tool(&words.next().unwrap_or_default()));
        command.args(words).arg(program);
    }
    command.arg("peer");
    (name, command)
}

fn task_of_peer(
    config: &RunConfig,
    number: usize,
    listen: Listen,
    elsewhere: bool,
    page: Option<RawFd>,
) -> PeerTask {
    let may_restart = matches!(config.measurement, Measurement::Soak(_));
    let budgets = config.variants.iter().map(|variant| variant.budgets);
    PeerTask {
        node: config.node.clone(),
        load: config.load,
        measurement: config.measurement.clone(),
        listen,
        identity: may_restart.then(|| identity(config.seed, number)),
        elsewhere,
        budgets: budgets.collect(),
        page,
    }
}

/// Reads the lines that a peer prints, in a thread. The thread goes on reading even if nobody wants the lines, to hold the
/// pipe open.
fn read_lines(output: ChildStdout) -> Result<Receiver<String>> {
    /// The number of lines that may wait to be read.
    const FEW: usize = 16;
    let (sender, lines) = sync_channel(FEW);
    thread::Builder::new().spawn(move || {
        for line in program::lines(output) {
            let _ = sender.try_send(line);
        }
    })?;
    Ok(lines)
}

/// Reads the first line of a peer on another host. Fails unless the peer is the program with this checksum.
fn peer_elsewhere(line: &str, sha256: &str) -> Result<PeerElsewhere> {
    let said: Option<PeerElsewhere> = serde_json::from_str(line).ok();
    let said = said.with_context(|| format!("the command that starts it prints {line:?}"))?;
    ensure!(
        said.sha256 == sha256,
        "the node program on its host is another one than here (copy it there)"
    );
    Ok(said)
}

/// The seed of a peer's key. A restarted peer has the same one, so that central knows it again. It need not be secret.
fn identity(seed: u64, number: usize) -> [u8; 32] {
    Sha256::digest(format!("peer {number} of {seed}")).into()
}

/// The restarts of peers: for each, the time since measuring began and the index of the peer. Each period has one restart, at
/// a random time in it. Every peer is restarted once before any is restarted again. A late restart does not delay the next.
pub(super) fn restarts(
    churn: Churn,
    peers: usize,
    seed: u64,
) -> impl Iterator<Item = (Duration, usize)> {
    let mut rng = StdRng::seed_from_u64(seed);
    // The peers that are still to be restarted in this round.
    let mut round: Vec<usize> = Vec::new();
    (0..).map_while(move |past: u32| {
        let period = churn.period()?;
        let part = rng.random_range(0.0..1.0);
        if round.is_empty() {
            round = (0..peers).collect();
            round.shuffle(&mut rng);
        }
        Some((period * past + period.mul_f64(part), round.pop()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_period_has_one_restart_and_every_round_each_peer() {
        let churn = "6/min".parse().expect("a rate");
        let seen: Vec<(Duration, usize)> = restarts(churn, 3, 7).take(12).collect();
        for (number, (at, _)) in (0..).zip(&seen) {
            assert_eq!(at.as_secs() / 10, number, "{seen:?}");
        }
        for round in seen.chunks_exact(3) {
            let mut peers: Vec<usize> = round.iter().map(|(_, peer)| *peer).collect();
            peers.sort_unstable();
            assert_eq!(peers, [0, 1, 2]);
        }
    }

    #[test]
    fn without_churn_no_peer_is_restarted() {
        let churn = "none".parse().expect("no rate");
        assert_eq!(restarts(churn, 3, 7).next(), None);
    }
}
