//! The workload of requests and responses with a fault in central, planted for tests. Peers are those of
//! the workload without it: the fault speaks no protocol.

use std::{
    borrow::{Borrow, BorrowMut},
    convert::Infallible,
    hint::black_box,
    task::{Context, Poll},
    thread,
    time::Duration,
};

use anyhow::{Result, bail};
use bytes::Bytes;
use libp2p::{
    Multiaddr, PeerId, Swarm,
    core::{Endpoint, transport::PortUse, upgrade::DeniedUpgrade},
    identity::Keypair,
    request_response::{Behaviour, Event},
    swarm::{
        ConnectionDenied, ConnectionHandler, ConnectionHandlerEvent, ConnectionId, FromSwarm,
        NetworkBehaviour, SubstreamProtocol, ToSwarm,
        behaviour::{ConnectionClosed, ConnectionEstablished},
        dial_opts::{DialOpts, PeerCondition},
        handler::ConnectionEvent,
    },
};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{
    linked::Linked,
    workload::{Echo, RequestResponse, Workload, ask},
};
use crate::{config::Load, observe::requests::RequestLog, plant::Plant};

pub(super) struct Planted;

impl Workload for Planted {
    type Behaviour = Faulty;

    fn behaviour(key: &Keypair) -> Result<Faulty> {
        Ok(Faulty {
            fault: Fault::default(),
            echo: RequestResponse::behaviour(key)?,
        })
    }

    fn plant(behaviour: &mut Faulty, plant: Option<Plant>) {
        behaviour.fault.plant = plant;
    }

    async fn central(swarm: Linked<Faulty>, load: Load, log: RequestLog) -> Result<Infallible> {
        ask(swarm, load, log).await
    }

    async fn peer(_: Swarm<Faulty>, _: Load) -> Result<Infallible> {
        bail!("faults are planted in central alone")
    }
}

/// The fault comes first: where a behaviour or a handler is polled, it is.
#[derive(NetworkBehaviour)]
#[behaviour(
    prelude = "libp2p::swarm::derive_prelude",
    to_swarm = "Event<Bytes, Bytes>"
)]
pub(super) struct Faulty {
    fault: Fault,
    echo: Behaviour<Echo>,
}

impl Borrow<Behaviour<Echo>> for Faulty {
    fn borrow(&self) -> &Behaviour<Echo> {
        &self.echo
    }
}

impl BorrowMut<Behaviour<Echo>> for Faulty {
    fn borrow_mut(&mut self) -> &mut Behaviour<Echo> {
        &mut self.echo
    }
}

/// A fault tells nothing.
#[derive(Debug)]
pub(super) enum NoEvent {}

impl From<NoEvent> for Event<Bytes, Bytes> {
    fn from(never: NoEvent) -> Self {
        match never {}
    }
}

#[derive(Default)]
pub(super) struct Fault {
    plant: Option<Plant>,
    ticks: Option<Interval>,
    connected: Vec<(PeerId, Multiaddr)>,
    dials: usize,
}

impl Fault {
    /// Whether it is time again; if not, the task is woken when it is.
    fn is_due(&mut self, cx: &mut Context<'_>, every: Duration) -> bool {
        let ticks = self.ticks.get_or_insert_with(|| {
            let mut ticks = interval(every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        });
        ticks.poll_tick(cx).is_ready()
    }

    /// Peers take turns.
    fn dial_connected_peer(&mut self, cx: &mut Context<'_>) -> Poll<ToSwarm<NoEvent, Infallible>> {
        const EVERY: Duration = Duration::from_millis(100);
        while self.is_due(cx, EVERY) {
            if self.connected.is_empty() {
                continue;
            }
            let (peer, address) = &self.connected[self.dials % self.connected.len()];
            self.dials += 1;
            let opts = DialOpts::peer_id(*peer)
                .condition(PeerCondition::Always)
                .addresses(vec![address.clone()])
                .build();
            return Poll::Ready(ToSwarm::Dial { opts });
        }
        Poll::Pending
    }

    fn leak_tasks(&mut self, cx: &mut Context<'_>) {
        const EVERY: Duration = Duration::from_millis(20);
        while self.is_due(cx, EVERY) {
            tokio::spawn(std::future::pending::<()>());
        }
    }
}

impl NetworkBehaviour for Fault {
    type ConnectionHandler = FaultHandler;
    type ToSwarm = NoEvent;

    fn handle_established_inbound_connection(
        &mut self,
        _: ConnectionId,
        _: PeerId,
        _: &Multiaddr,
        _: &Multiaddr,
    ) -> Result<FaultHandler, ConnectionDenied> {
        Ok(FaultHandler::new(self.plant))
    }

    fn handle_established_outbound_connection(
        &mut self,
        _: ConnectionId,
        _: PeerId,
        _: &Multiaddr,
        _: Endpoint,
        _: PortUse,
    ) -> Result<FaultHandler, ConnectionDenied> {
        Ok(FaultHandler::new(self.plant))
    }

    fn on_swarm_event(&mut self, event: FromSwarm<'_>) {
        match event {
            FromSwarm::ConnectionEstablished(ConnectionEstablished {
                peer_id,
                endpoint,
                other_established: 0,
                ..
            }) => {
                let address = endpoint.get_remote_address().clone();
                self.connected.push((peer_id, address));
            }
            FromSwarm::ConnectionClosed(ConnectionClosed {
                peer_id,
                remaining_established: 0,
                ..
            }) => self.connected.retain(|(peer, _)| *peer != peer_id),
            _ => {}
        }
    }

    fn on_connection_handler_event(&mut self, _: PeerId, _: ConnectionId, event: Infallible) {
        match event {}
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ToSwarm<NoEvent, Infallible>> {
        match self.plant {
            Some(Plant::SelfWakingBehaviour) => cx.waker().wake_by_ref(),
            Some(Plant::DiallingBehaviour) => return self.dial_connected_peer(cx),
            Some(Plant::LeakingTasks) => self.leak_tasks(cx),
            Some(Plant::SleepingHandler | Plant::AllocatingHandler) | None => {}
        }
        Poll::Pending
    }
}

pub(super) struct FaultHandler {
    plant: Option<Plant>,
    polls: u64,
}

impl FaultHandler {
    fn new(plant: Option<Plant>) -> FaultHandler {
        FaultHandler { plant, polls: 0 }
    }
}

// Not to be inlined: they are to be found by name in stacks.

#[inline(never)]
fn sleep_in_poll() {
    const SLEEP: Duration = Duration::from_micros(200);
    thread::sleep(SLEEP);
}

#[inline(never)]
fn allocate_in_poll() {
    const OBJECTS: u64 = 10_000;
    for number in 0..OBJECTS {
        drop(black_box(Box::new(number)));
    }
}

impl ConnectionHandler for FaultHandler {
    type FromBehaviour = Infallible;
    type ToBehaviour = Infallible;
    type InboundProtocol = DeniedUpgrade;
    type OutboundProtocol = DeniedUpgrade;
    type InboundOpenInfo = ();
    type OutboundOpenInfo = ();

    fn listen_protocol(&self) -> SubstreamProtocol<DeniedUpgrade> {
        SubstreamProtocol::new(DeniedUpgrade, ())
    }

    fn on_behaviour_event(&mut self, event: Infallible) {
        match event {}
    }

    fn poll(
        &mut self,
        _: &mut Context<'_>,
    ) -> Poll<ConnectionHandlerEvent<DeniedUpgrade, (), Infallible>> {
        const SLEEP_EVERY: u64 = 10;
        self.polls += 1;
        match self.plant {
            Some(Plant::SleepingHandler) if self.polls.is_multiple_of(SLEEP_EVERY) => {
                sleep_in_poll();
            }
            Some(Plant::AllocatingHandler) => allocate_in_poll(),
            _ => {}
        }
        Poll::Pending
    }

    fn on_connection_event(&mut self, _: ConnectionEvent<'_, DeniedUpgrade, DeniedUpgrade>) {
        // It has opened no stream and accepts none, and nothing else concerns it.
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc,
        time::{Duration, Instant},
    };

    use poll_probe::{Budgets, Mode, Variant};

    use super::*;
    use crate::{
        config::{
            NodeConfig, Pace, RuntimeConfig, Security, Transport, Workload as WorkloadConfig,
        },
        node::{
            central::{self, CentralConfig},
            linked::OnLoss,
            swarm,
        },
        observe::{
            activity::Snapshot,
            idle_polls::{IdleCounts, IdlePolls},
        },
        payload::Payload,
    };

    const PEERS: usize = 2;

    fn node(plant: Option<Plant>) -> NodeConfig {
        NodeConfig {
            workload: WorkloadConfig::RequestResponse,
            security: Security::Noise,
            transport: Transport::Tcp,
            plant,
        }
    }

    fn load() -> Load {
        Load {
            payload: Payload::kib(4),
            pace: Pace::Outstanding(2),
        }
    }

    /// A peer on a thread that lasts as long as the tests do.
    fn start_peer() -> Multiaddr {
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let key = Keypair::generate_ed25519();
                let behaviour = RequestResponse::behaviour(&key).expect("a behaviour");
                let spawn = |task| drop(tokio::spawn(task));
                let mut swarm = swarm::build(node(None), &key, behaviour, spawn).expect("a swarm");
                let any = "/ip4/127.0.0.1/tcp/0".parse().expect("an address");
                let address = swarm::listen(&mut swarm, any).await.expect("it listens");
                tell.send(address).expect("somebody waits for it");
                let Err(error) = RequestResponse::peer(swarm, load()).await;
                panic!("{error:#}");
            });
        });
        told.recv().expect("it listens")
    }

    /// Central's activity since it was connected, and its polls, as soon as it is as wanted, which may depend
    /// on how long that took.
    fn activity(
        plant: Option<Plant>,
        is_as_wanted: impl Fn(&Snapshot, &Snapshot, Duration) -> bool + Send + 'static,
    ) -> (Snapshot, IdleCounts) {
        const PATIENCE: Duration = Duration::from_secs(60);
        let cores = lab::Topology::of_this_process().expect("cores");
        let config = CentralConfig {
            node: node(plant),
            load: load(),
            runtime: RuntimeConfig {
                workers: 1,
                event_interval: None,
                global_queue_interval: None,
            },
            peers: (0..PEERS).map(|_| start_peer()).collect(),
            on_loss: OnLoss::Fail,
            service_cores: cores.available().clone(),
            seed: 1,
            explains_on: cores.available().iter().next(),
        };
        let measured = central::run(config, move |observed| {
            let activity = observed.activity;
            activity.count_self_wakes(true);
            let recorded = Variant {
                budgets: Budgets::NONE,
                mode: Mode::Minimal,
            };
            recorded.install();
            let mut polls = IdlePolls::default();
            let (began, before) = (Instant::now(), activity.snapshot());
            loop {
                let recorder = &observed.observers.recorder;
                recorder.drain(|record| polls.note(record, true));
                let now = activity.snapshot();
                if is_as_wanted(&before, &now, began.elapsed()) {
                    return Ok((now.since(&before), polls.counts()));
                }
                if began.elapsed() > PATIENCE {
                    bail!("{before:?}, and after {PATIENCE:?} {now:?}");
                }
                thread::sleep(Duration::from_millis(10));
            }
        });
        measured.expect("central works")
    }

    #[test]
    fn a_behaviour_that_dials_connected_peers_shows_as_dials_and_connections() {
        let (seen, _) = activity(Some(Plant::DiallingBehaviour), |before, now, _| {
            now.dials >= before.dials + 5 && now.connections_opened >= before.connections_opened + 5
        });
        assert_eq!(seen.peers, PEERS as u64, "{seen:?}");
        assert!(seen.connections >= 5 + PEERS as u64, "{seen:?}");
        assert_eq!((seen.connections_closed, seen.dial_failures), (0, 0));
    }

    #[test]
    fn tasks_that_never_end_show_as_tasks() {
        let (seen, _) = activity(Some(Plant::LeakingTasks), |before, now, _| {
            now.tasks >= before.tasks + 10
        });
        assert_eq!(
            (seen.dials, seen.connections),
            (0, PEERS as u64),
            "{seen:?}"
        );
    }

    #[test]
    fn a_behaviour_that_wakes_itself_shows_as_self_wakes_of_central() {
        // A loop that never sleeps gets that far on any machine.
        let (seen, polls) = activity(Some(Plant::SelfWakingBehaviour), |before, now, _| {
            let before = before.central_self_wakes.expect("they are counted");
            now.central_self_wakes.expect("they are counted") >= before + 1000
        });
        assert_eq!(
            (seen.dials, seen.connections),
            (0, PEERS as u64),
            "{seen:?}"
        );
        // Nothing is ready for the swarm when it is woken for nothing.
        assert!(polls.swarm_polls_idle > polls.swarm_polls / 2, "{polls:?}");
    }

    #[test]
    fn without_a_fault_nothing_grows() {
        const LOOKED: Duration = Duration::from_millis(500);
        let (seen, polls) = activity(None, |_, _, took| took > LOOKED);
        assert_eq!((seen.dials, seen.dial_failures), (0, 0), "{seen:?}");
        assert_eq!((seen.connections, seen.peers), (PEERS as u64, PEERS as u64));
        assert_eq!((seen.connections_opened, seen.connections_closed), (0, 0));
        assert!(polls.swarm_polls > polls.swarm_polls_idle, "{polls:?}");
        assert!(
            polls.connection_polls > polls.connection_polls_idle,
            "{polls:?}"
        );
    }
}
