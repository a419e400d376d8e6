//! The processes of the peers: all started at once, and one of them again where peers come and go.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use lab::{Lab, Reaped, RttReport, Where, time_links, with_a_core_for};
use program::{
    Failure, bad_input, ended, ended_saying, interrupts_seen, last_words, user_tool, wait_within,
};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use run_format::checksums::of_program;
use run_format::{Churn, LinkRtt, Listen, Measurement, PeerElsewhere, PeerTask, Rtt, RunConfig};
use sha2::{Digest, Sha256};

use super::nodes::{self, errors_in};
use crate::conversation::CellTask;

const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Peers<'a> {
    task: &'a CellTask,
    peers: Vec<PeerProcess>,
    /// Tells them which variant is in force. None if they are on other hosts.
    page: Option<File>,
    /// Where their hosts answer TCP connects. Empty in a lab.
    connects: Vec<SocketAddr>,
}

struct PeerProcess {
    /// For messages, with its host if that is another one.
    name: String,
    log: PathBuf,
    /// Or what stands for it on this host.
    process: Reaped,
    lines: Receiver<String>,
    /// Where it listens, as central dials it.
    address: String,
    /// If it was started again: until when it has to listen.
    deadline: Option<Instant>,
}

impl<'a> Peers<'a> {
    /// Starts all of them, then waits for the address of each.
    pub(super) fn start(lab: Option<&Lab>, task: &'a CellTask) -> Result<Peers<'a>> {
        let hosts = task.config.lab.peer_hosts.as_ref();
        let own = hosts.map(|_| of_program(&task.peer)).transpose()?;
        let mut started = Peers {
            task,
            peers: Vec::new(),
            page: lab.map(|_| nodes::shared_page()).transpose()?,
            connects: Vec::new(),
        };
        let page = started.page();
        for number in 0..task.config.cell.peers {
            let ip = match (lab, hosts) {
                (Some(lab), _) => lab.peer_address(number).into(),
                (None, Some(of)) => of.hosts[number].address,
                (None, None) => bail!("there is neither a lab nor a host for peer {}", number + 1),
            };
            let peer = PeerProcess::start((lab, page), task, number, Listen::Ip(ip))?;
            started.peers.push(peer);
        }
        let deadline = Instant::now() + PATIENCE;
        for peer in &mut started.peers {
            if let Some(own) = &own {
                let of_host = elsewhere(&peer.line(deadline)?, own);
                let of_host = of_host.with_context(|| peer.name.clone())?;
                started.connects.push(of_host.connects);
            }
            peer.address = peer.line(deadline)?;
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

    /// The number of the file under which the processes of the cell inherit it.
    pub(super) fn page(&self) -> Option<RawFd> {
        self.page.as_ref().map(File::as_raw_fd)
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
        let page = self.page();
        let peer = &mut self.peers[number];
        peer.end()?;
        let listen = Listen::Address(peer.address.clone());
        let mut again = PeerProcess::start((lab, page), self.task, number, listen)?;
        again.address = peer.address.clone();
        again.deadline = Some(Instant::now() + PATIENCE);
        *peer = again;
        Ok(())
    }

    /// Whether all of them listen; an error if one is gone, or was started again and does not.
    pub(super) fn listen(&mut self) -> Result<bool> {
        let mut all = true;
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
                    Err(TryRecvError::Empty) if Instant::now() < deadline => all = false,
                    Err(_) => return Err(peer.does_not_listen()),
                }
            } else if let Some(status) = peer.process.child.try_wait()? {
                bail!("{name} {}", ended(status));
            }
        }
        Ok(all)
    }

    /// The peers that are gone, how they ended, and their last words.
    pub(super) fn gone(&mut self) -> Vec<String> {
        // Central may notice the death of a peer first, and what stands for one on another host ends after it.
        const MOMENT: Duration = Duration::from_millis(500);
        thread::sleep(MOMENT);
        let ended = |peer: &mut PeerProcess| {
            let status = peer.process.child.try_wait().ok().flatten()?;
            let ended = ended_saying(status, &errors_in(&peer.log));
            Some(format!("{} {ended}", peer.name))
        };
        self.peers.iter_mut().filter_map(ended).collect()
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
    fn start(
        (lab, page): (Option<&Lab>, Option<RawFd>),
        task: &CellTask,
        number: usize,
        listen: Listen,
    ) -> Result<PeerProcess> {
        const FEW: usize = 16;
        let config = &task.config;
        let mut name = format!("peer {}", number + 1);
        let mut program = Command::new(&task.peer);
        if let Some(of) = &config.lab.peer_hosts {
            let host = &of.hosts[number].name;
            name += &format!(" on {host}");
            let mut words = of.command.iter().map(|word| word.replace("{host}", host));
            program = Command::new(user_tool(&words.next().unwrap_or_default()));
            program.args(words).arg(&task.peer);
        }
        let log = task.dir.join(format!("peer-{}.log", number + 1));
        let placement = with_a_core_for(number, config.cell.peers, &config.lab.placement);
        let place = (Where::Peer(number), &placement);
        let mut process = nodes::start(lab, place, program, "peer", &log)?;
        if let Some(mut input) = process.child.stdin.take() {
            let is_restarted = matches!(config.measurement, Measurement::Soak(_));
            let task = PeerTask {
                node: config.node.clone(),
                load: config.load,
                measurement: config.measurement.clone(),
                listen,
                identity: is_restarted.then(|| identity(config.seed, number)),
                elsewhere: lab.is_none(),
                budgets: config.variants.iter().map(|it| it.budgets).collect(),
                page,
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
        Ok(PeerProcess {
            name,
            log,
            process,
            lines,
            address: String::new(),
            deadline: None,
        })
    }

    fn line(&self, deadline: Instant) -> Result<String> {
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
        let words = last_words(&errors_in(&self.log));
        let words = words.map_or_else(String::new, |words| format!(": {words}"));
        anyhow!("{} does not listen{words}", self.name)
    }

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

/// The seed of a key, so that a restarted peer is the same to central. It need not be secret.
fn identity(seed: u64, number: usize) -> [u8; 32] {
    Sha256::digest(format!("peer {number} of {seed}")).into()
}

/// Which peer is restarted when: one in every period, at any time of it so as to keep step with nothing,
/// and every peer once before any is twice. The times, from when measuring began, and the peers. A restart that is late makes the next ones no later.
pub(super) fn restarts(
    churn: Churn,
    peers: usize,
    seed: u64,
) -> impl Iterator<Item = (Duration, usize)> {
    let mut rng = StdRng::seed_from_u64(seed);
    // Those that are still to come before any is restarted again.
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
