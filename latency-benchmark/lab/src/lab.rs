//! A wired lab.

use std::{net::Ipv4Addr, process::Command, time::Instant};

use serde::{Deserialize, Serialize};

use crate::{
    Backend, Cores, Counters, DelayLineReport, Inside, Jitter, LabError, LabSpec, Loss, Placement,
    Reaped, Rtt, RttReport, TcpBuffers, child, counters, measure, netem,
    netns::Netns,
    nfqueue::{self, DelayLine},
    wiring::{self, Wires},
};

/// A namespace of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// That of the observed node.
    Central,
    /// That of a peer, counted from zero.
    Peer(usize),
}

/// Central's namespace, one per peer, and a link between central and each. Dropping it takes them
/// down, once the processes in them have ended.
pub struct Lab {
    wires: Wires,
    delay_line: Option<DelayLine>,
    spec: LabSpec,
    facts: LabFacts,
}

/// What a lab turned out to be, for the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabFacts {
    /// How many peers.
    pub peers: usize,
    /// As asked; what it is, [`Lab::measure_rtt`] tells.
    pub rtt_ms: Rtt,
    /// What delays the packets. Null where nothing does.
    pub backend: Option<DelayBackend>,
    /// As asked, in each direction.
    pub loss_percent: Option<Loss>,
    /// As asked, in each direction.
    pub jitter_ms: Option<Jitter>,
    /// As asked; what connections use, [`Lab::measure_rtt`] tells.
    pub congestion_control: String,
    /// As read from the namespaces.
    pub tcp_buffers: TcpBuffers,
    /// Which core runs what.
    pub placement: Placement,
    /// Whether a user namespace is around it all.
    pub rootless: bool,
    /// The time that the wiring took.
    pub wiring_ms: f64,
}

/// What delays the packets of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayBackend {
    /// The kernel's queueing discipline.
    Netem,
    /// The delay line.
    Nfqueue,
}

impl DelayBackend {
    /// The name used in files and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            DelayBackend::Netem => "netem",
            DelayBackend::Nfqueue => "nfqueue",
        }
    }
}

impl Lab {
    /// Makes the namespaces, the links and the delay. The delay is not to be trusted before it was
    /// [measured](Lab::measure_rtt).
    pub fn wire(inside: Inside, spec: LabSpec) -> Result<Lab, LabError> {
        spec.check()?;
        let start = Instant::now();
        let wires = Wires::lay(inside, spec.peers, &spec.congestion_control)?;
        wiring::set_tcp(&wires, spec.tcp_buffers).map_err(LabError::Namespaces)?;
        let (backend, delay_line) = delay(inside, &wires, &spec)?;
        let facts = LabFacts {
            peers: spec.peers,
            rtt_ms: spec.rtt,
            backend,
            loss_percent: spec.loss,
            jitter_ms: spec.jitter,
            congestion_control: spec.congestion_control.clone(),
            tcp_buffers: wiring::read_tcp_buffers(&wires).map_err(LabError::Namespaces)?,
            placement: spec.placement.clone(),
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

    /// What it turned out to be.
    pub fn facts(&self) -> &LabFacts {
        &self.facts
    }

    /// The address of peer `peer`, counted from zero.
    ///
    /// # Panics
    ///
    /// If there is no such peer, as all methods that take one.
    pub fn peer_address(&self, peer: usize) -> Ipv4Addr {
        assert!(
            peer < self.spec.peers,
            "the lab has {} peers",
            self.spec.peers
        );
        wiring::peer_address(peer)
    }

    /// The address by which peer `peer` knows central.
    pub fn central_address(&self, peer: usize) -> Ipv4Addr {
        assert!(
            peer < self.spec.peers,
            "the lab has {} peers",
            self.spec.peers
        );
        wiring::central_address(peer)
    }

    /// Times TCP connects over every link. Takes about five round trips.
    pub fn measure_rtt(&self) -> Result<RttReport, LabError> {
        measure::measure(&self.wires, &self.spec).map_err(LabError::Measurement)
    }

    /// Starts `command` in a namespace and on `cores`. Its standard streams are the caller's to
    /// configure.
    ///
    /// The child is killed when the calling *thread* ends, so this is not for threads that come and
    /// go, as those of a pool for blocking calls do.
    pub fn spawn(
        &self,
        place: Where,
        cores: &Cores,
        mut command: Command,
    ) -> Result<Reaped, LabError> {
        child::die_with_thread(&mut command);
        child::spawn(self.namespace(place), cores, command).map_err(LabError::Spawn)
    }

    /// As [`spawn`](Lab::spawn), on the cores of the lab's own placement. Peers are nice: where they
    /// share a core with what measures, a dozen of them would keep it waiting.
    pub fn spawn_placed(&self, place: Where, mut command: Command) -> Result<Reaped, LabError> {
        let placement = &self.spec.placement;
        match place {
            Where::Central => self.spawn(place, &Cores::one(placement.central), command),
            Where::Peer(_) => {
                child::be_nice(&mut command);
                self.spawn(place, &placement.peers, command)
            }
        }
    }

    /// What was dropped and sent again so far. Takes a few milliseconds.
    pub fn counters(&self) -> Result<Counters, LabError> {
        let delay_line = self.delay_line.as_ref().map(DelayLine::pid);
        counters::read(&self.wires, self.facts.backend, delay_line)
    }

    /// An error if the lab cannot work any more because its delay line is gone. Cheap.
    pub fn check(&mut self) -> Result<(), LabError> {
        self.delay_line.as_mut().map_or(Ok(()), DelayLine::check)
    }

    /// The process of the delay line, if there is one.
    pub fn delay_line_pid(&self) -> Option<u32> {
        self.delay_line.as_ref().map(DelayLine::pid)
    }

    /// Ends the delay line, if there is one, and returns what it did.
    pub fn finish(self) -> Result<Option<DelayLineReport>, LabError> {
        self.delay_line.map(DelayLine::finish).transpose()
    }

    fn namespace(&self, place: Where) -> &Netns {
        match place {
            Where::Central => &self.wires.central,
            Where::Peer(peer) => &self.wires.peers[peer],
        }
    }
}

/// Sets up the delay by whatever can.
fn delay(
    inside: Inside,
    wires: &Wires,
    spec: &LabSpec,
) -> Result<(Option<DelayBackend>, Option<DelayLine>), LabError> {
    if spec.rtt.is_zero() && !spec.is_impaired() {
        return Ok((None, None));
    }
    let by_netem = || {
        netem::delay(wires, spec)?;
        Ok((Some(DelayBackend::Netem), None))
    };
    let by_nfqueue = |iptables: nfqueue::Iptables| {
        iptables.hold_packets(wires)?;
        let delay_line = DelayLine::start(wires, spec)?;
        Ok((Some(DelayBackend::Nfqueue), Some(delay_line)))
    };
    if spec.backend == Backend::Nfqueue {
        return by_nfqueue(nfqueue::probe(inside)?);
    }
    let Err(netem) = netem::probe(inside) else {
        return by_netem();
    };
    if spec.backend == Backend::Netem || spec.is_impaired() {
        return Err(LabError::NoNetem(Box::new(netem)));
    }
    match nfqueue::probe(inside) {
        Ok(iptables) => by_nfqueue(iptables),
        Err(nfqueue) => Err(LabError::NoDelay {
            rtt: spec.rtt,
            netem: Box::new(netem),
            nfqueue: Box::new(nfqueue),
        }),
    }
}
