//! A lab whose namespaces, links and delay exist.

use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use nix::sys::prctl;
use nix::sys::signal::Signal;

use crate::netns::SET_UP;
use crate::nfqueue::{self, DelayLineProcess};
use crate::tool::{MissingTool, SystemTool};
use crate::wiring::{self, Wires};
use crate::{Inside, KillOnDrop, LabSpec, child, counters, netem, round_trips, sys};
use run_format::{
    Backend, Cores, Counters, DelayBackend, DelayLineReport, LabFacts, RttReport, TcpBuffers,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodePlace {
    Central,
    /// The namespace of a peer, counted from zero.
    Peer(usize),
}

/// Central's namespace, one namespace per peer, and a link between central and each peer. Dropping this
/// value removes them once the processes inside have ended.
pub struct Lab {
    wires: Wires,
    delay_line: Option<DelayLineProcess>,
    spec: LabSpec,
    facts: LabFacts,
}

impl Lab {
    /// Creates the namespaces, the links and the delay. The caller has to [measure](Lab::measure_rtt) the
    /// delay before relying on it.
    pub fn wire(inside: Inside, spec: LabSpec) -> Result<Lab> {
        spec.check()?;
        let start = Instant::now();
        let wires = Wires::lay(inside, &spec)?;
        let tcp_buffers = TcpBuffers::default();
        wiring::set_tcp(&wires, tcp_buffers).context(SET_UP)?;
        let (backend, delay_line) = delay(inside, &wires, &spec)?;
        let facts = LabFacts {
            peers: spec.peers,
            rtt_ms: spec.rtt,
            backend,
            loss_percent: spec.network.loss_percent,
            jitter_ms: spec.network.jitter_ms,
            congestion_control: spec.network.congestion_control.clone(),
            tcp_buffers,
            placement: spec.network.placement.clone(),
            receive_masks: wires.receive_masks.clone(),
            rootless: inside.is_rootless(),
            wiring_ms: start.elapsed().as_secs_f64() * 1e3,
        };
        Ok(Lab {
            wires,
            delay_line,
            spec,
            facts,
        })
    }

    pub fn facts(&self) -> &LabFacts {
        &self.facts
    }

    /// The address of peer `peer`, counted from zero.
    ///
    /// # Panics
    ///
    /// If there is no such peer. This holds for all methods that take a peer.
    pub fn peer_address(&self, peer: usize) -> Ipv4Addr {
        let peers = self.spec.peers;
        assert!(peer < peers, "the lab has {peers} peers");
        wiring::peer_address(peer)
    }

    /// Times TCP connects over every link. Takes about five round trips.
    pub fn measure_rtt(&mut self) -> Result<RttReport> {
        let line = &mut self.delay_line;
        let mut works = || line.as_mut().is_none_or(|line| line.check().is_ok());
        let report = round_trips::measure(&self.wires, &self.spec, &mut works);
        // If the delay line has ended, no link has the requested delay.
        self.check()?;
        report.context("the links could not be measured")
    }

    /// Starts `command` in a namespace of this lab and on the cores of its placement, as [`spawn`] does.
    pub fn spawn_placed(&self, place: NodePlace, command: Command) -> Result<KillOnDrop> {
        let placement = &self.spec.network.placement;
        let cores = match place {
            NodePlace::Central => placement.central_cores(),
            NodePlace::Peer(_) => placement.peers.clone(),
        };
        spawn(Some(self), place, &cores, command)
    }

    /// Packets dropped since the lab was wired. Takes a few milliseconds.
    pub fn counters(&self) -> Result<Counters> {
        counters::read(&self.wires, self.facts.backend)
    }

    /// Returns an error if the lab no longer works because its delay line has ended. This costs next to nothing.
    pub fn check(&mut self) -> Result<()> {
        let line = self.delay_line.as_mut();
        line.map_or(Ok(()), DelayLineProcess::check)
    }

    pub fn delay_line_pid(&self) -> Option<u32> {
        self.delay_line.as_ref().map(DelayLineProcess::pid)
    }

    /// Ends the delay line, if there is one, and returns its report.
    pub fn finish(self) -> Result<Option<DelayLineReport>> {
        self.delay_line.map(DelayLineProcess::finish).transpose()
    }
}

/// Starts `command` on these cores: in a namespace of the lab, or else in the network that this process is in. The caller
/// sets up the standard streams.
///
/// Peers get a low priority: a dozen of them would otherwise delay the measured process if they share a core with it.
///
/// The kernel kills the child when the calling *thread* ends. So do not call this on a short-lived
/// thread, such as one of a pool for blocking calls.
pub fn spawn(
    lab: Option<&Lab>,
    place: NodePlace,
    cores: &Cores,
    mut command: Command,
) -> Result<KillOnDrop> {
    /// About a tenth of an ordinary process's share of its core.
    const NICENESS: libc::c_int = 10;
    // The parent may die before this call. Inside a lab, that case needs no care: the parent was in a pid namespace, and the
    // kernel ends everything in it when its first process dies.
    sys::before_exec(&mut command, || Ok(prctl::set_pdeathsig(Signal::SIGKILL)?));
    if matches!(place, NodePlace::Peer(_)) {
        sys::before_exec(&mut command, || Ok(sys::be_nice(NICENESS)?));
    }
    let namespace = lab.map(|lab| match place {
        NodePlace::Central => &lab.wires.central,
        NodePlace::Peer(peer) => &lab.wires.peers[peer],
    });
    child::spawn(namespace, cores, command).context("the system could not start the process")
}

/// Sets up the delay with the requested backend, or else with the first one that works.
fn delay(
    inside: Inside,
    wires: &Wires,
    spec: &LabSpec,
) -> Result<(Option<DelayBackend>, Option<DelayLineProcess>)> {
    if spec.rtt.is_zero() && !spec.is_impaired() {
        return Ok((None, None));
    }
    let by_nfqueue = |iptables: SystemTool| {
        nfqueue::hold_packets(&iptables, wires)?;
        let delay_line = DelayLineProcess::start(wires, spec)?;
        Ok((Some(DelayBackend::Nfqueue), Some(delay_line)))
    };
    if spec.network.backend == Backend::Nfqueue {
        return by_nfqueue(nfqueue::probe(inside)?);
    }
    let Err(netem) = netem::probe(inside) else {
        netem::delay(wires, spec)?;
        return Ok((Some(DelayBackend::Netem), None));
    };
    if spec.network.backend == Backend::Netem || spec.is_impaired() {
        const NFQUEUE: &str =
            "the nfqueue backend works without netem, but supports neither loss nor jitter";
        // The error of a missing program has a remedy already.
        let remedy = match netem.is::<MissingTool>() {
            true => NFQUEUE.to_owned(),
            false => format!("remedy: {}; {NFQUEUE}", netem::REMEDY),
        };
        bail!("this machine has no working netem: {netem:#}; {remedy}");
    }
    match nfqueue::probe(inside) {
        Ok(iptables) => by_nfqueue(iptables),
        Err(nfqueue) => bail!(
            "packets cannot be delayed by {} ms: netem: {netem:#}; NFQUEUE: {nfqueue:#}",
            spec.rtt
        ),
    }
}
