//! The workload `rr`, and beside it its control: the same transactions between the same processes over
//! TCP sockets without libp2p. The two take turns, and while it is the turn of one the other does nothing.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use anyhow::{Context, Result, anyhow};
use futures::{
    StreamExt,
    future::{pending, poll_fn},
};
use libp2p::{Multiaddr, Swarm, identity::Keypair, multiaddr::Protocol};
use poll_probe::{Capacity, Recorder};
use serde::{Deserialize, Serialize};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

use super::{
    central::{CentralConfig, build_runtime, measure_aside},
    swarm::{self, refuse_loss},
    transaction::{Asker, Link, echo},
    workload::{Rr, Workload, open_rr},
};
use crate::{
    config::{Load, Role},
    observe::{
        activity::Links,
        log::{Log, LogReader, log},
        process::{self, Subject, this_thread},
    },
};

/// Where a peer answers without libp2p, besides the port that it tells. Peers have an address each.
const PORT: u16 = 7007;

/// How a transaction travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    RawTcp,
    Libp2p,
}

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::RawTcp => "raw-tcp",
            Way::Libp2p => "libp2p",
        }
    }

    /// What a variant of that role measures: raw TCP twice, which shows what chance does, and libp2p
    /// against it.
    pub(crate) fn of(role: Role) -> Way {
        match role {
            Role::Baseline | Role::Twin => Way::RawTcp,
            Role::Candidate => Way::Libp2p,
        }
    }
}

/// A transaction that is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transaction {
    pub(crate) way: Way,
    /// From zero.
    pub(crate) peer: usize,
    pub(crate) at_ns: u64,
    pub(crate) latency_ns: u64,
}

/// Central at work, seen from the thread that measures it.
pub(crate) struct AtWork {
    pub(crate) transactions: LogReader<Transaction>,
    pub(crate) turns: Turns,
    pub(crate) clock: Arc<Recorder>,
    /// The threads that central runs on.
    pub(crate) workers: Vec<Subject>,
    /// Polls of the tasks of libp2p's connections so far.
    pub(crate) libp2p_polls: Arc<AtomicU64>,
}

/// Says whose turn it is.
pub(crate) struct Turns {
    turn: watch::Sender<Option<Way>>,
    busy: Arc<AtomicUsize>,
}

impl Turns {
    /// Lets one way begin transactions, or none.
    pub(crate) fn give(&self, way: Option<Way>) {
        self.turn.send_replace(way);
    }

    /// Whether nobody is in a transaction. Stays so while it is nobody's turn.
    pub(crate) fn are_over(&self) -> bool {
        self.busy.load(Ordering::SeqCst) == 0
    }
}

/// Answers on TCP sockets beside the swarm that is to listen at `listen`.
pub(super) async fn serve(listen: &Multiaddr, load: Load) -> Result<()> {
    let address = address(listen)?;
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}"))?;
    tokio::spawn(async move {
        loop {
            // Who could not be accepted is told so by its kernel.
            if let Ok((socket, _)) = listener.accept().await
                && socket.set_nodelay(true).is_ok()
            {
                tokio::spawn(echo(socket, load.payload));
            }
        }
    });
    Ok(())
}

/// Connects to every peer both ways, while `measure` runs on a thread of its own and says whose turn it
/// is. Nobody has a turn before. No poll is recorded and no co-tenant runs: on central's worker there is
/// nothing but what is compared.
pub(crate) fn run<T: Send + 'static>(
    config: CentralConfig,
    measure: impl FnOnce(AtWork) -> Result<T> + Send + 'static,
) -> Result<T> {
    let workers = Arc::new(Mutex::new(Vec::new()));
    let note = {
        let workers = Arc::clone(&workers);
        move || locked(&workers).push(this_thread())
    };
    let runtime = build_runtime(config.runtime, note)?;
    runtime.block_on(async move {
        let key = Keypair::generate_ed25519();
        let libp2p_polls = Arc::new(AtomicU64::new(0));
        let spawn = {
            let polls = Arc::clone(&libp2p_polls);
            move |task| {
                tokio::spawn(counted(task, Arc::clone(&polls)));
            }
        };
        let mut swarm = swarm::build(config.node, &key, Rr::behaviour(&key)?, spawn)?;
        let peers = swarm::connect(&mut swarm, &config.peers, &Links::default()).await?;
        let workers = locked(&workers).clone();
        let (_, helpers) = process::other_threads(&workers)?;
        process::move_threads(&helpers, &config.service_cores)
            .context("a library's thread cannot leave central's core")?;

        let (turn, turns) = watch::channel(None);
        let busy = Arc::new(AtomicUsize::new(0));
        let clock = Arc::new(Recorder::new(Capacity::default()));
        let (noted, transactions) = log(CAPACITY, BLANK);
        let noted = Arc::new(Mutex::new(noted));
        let mut asking = JoinSet::new();
        for (number, (peer, at)) in peers.into_iter().enumerate() {
            let player = |way| Player {
                way,
                peer: number,
                load: config.load,
                turns: turns.clone(),
                busy: Arc::clone(&busy),
                clock: Arc::clone(&clock),
                log: Arc::clone(&noted),
            };
            let at = address(&at)?;
            let socket = TcpStream::connect(at)
                .await
                .with_context(|| format!("cannot connect to {at}"))?;
            socket.set_nodelay(true)?;
            asking.spawn(player(Way::RawTcp).play(socket));
            let (player, control) = (player(Way::Libp2p), swarm.behaviour().new_control());
            asking.spawn(async move { player.play(open_rr(control, peer).await?).await });
        }
        let at_work = AtWork {
            transactions,
            turns: Turns { turn, busy },
            clock,
            workers,
            libp2p_polls,
        };
        let measured = measure_aside(config.service_cores, || measure(at_work))?;
        tokio::select! {
            failed = keep(&mut swarm) => match failed? {},
            Some(ended) = asking.join_next() => match ended?? {},
            measured = measured => measured.context("the measuring thread panicked")?,
        }
    })
}

/// Some seconds of the busiest central.
const CAPACITY: usize = 1 << 17;
/// What the buffer is filled with before.
const BLANK: Transaction = Transaction {
    way: Way::RawTcp,
    peer: 0,
    at_ns: 0,
    latency_ns: 0,
};

/// Where the peer whose swarm is at `at` answers without libp2p.
fn address(at: &Multiaddr) -> Result<SocketAddr> {
    let ip = at.iter().find_map(|part| match part {
        Protocol::Ip4(ip) => Some(IpAddr::V4(ip)),
        Protocol::Ip6(ip) => Some(IpAddr::V6(ip)),
        _ => None,
    });
    let ip = ip.ok_or_else(|| anyhow!("{at} has no IP address"))?;
    Ok(SocketAddr::new(ip, PORT))
}

fn locked<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn keep(swarm: &mut Swarm<<Rr as Workload>::Behaviour>) -> Result<Infallible> {
    loop {
        refuse_loss(&swarm.select_next_some().await)?;
    }
}

async fn counted(mut task: Pin<Box<dyn Future<Output = ()> + Send>>, polls: Arc<AtomicU64>) {
    poll_fn(move |cx| {
        polls.fetch_add(1, Ordering::Relaxed);
        task.as_mut().poll(cx)
    })
    .await;
}

/// Who has transactions with one peer in one way, one at a time, when it is its turn.
struct Player {
    way: Way,
    peer: usize,
    load: Load,
    turns: watch::Receiver<Option<Way>>,
    busy: Arc<AtomicUsize>,
    clock: Arc<Recorder>,
    log: Arc<Mutex<Log<Transaction>>>,
}

impl Player {
    async fn play(mut self, link: impl Link) -> Result<Infallible> {
        let (way, peer) = (self.way, self.peer + 1);
        let mut asker = Asker::new(link, self.load.payload);
        loop {
            let mine = |turn: &Option<Way>| *turn == Some(way);
            if self.turns.wait_for(mine).await.is_err() {
                // Who gave the turns has ended, and says why.
                return pending().await;
            }
            self.busy.fetch_add(1, Ordering::SeqCst);
            self.turn(&mut asker)
                .await
                .with_context(|| format!("the link to peer {peer} broke ({})", way.name()))?;
            self.busy.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Until it is another's. Who was slow to notice that it had a turn begins nothing after it.
    async fn turn(&self, asker: &mut Asker<impl Link>) -> io::Result<()> {
        while let Ok(false) = self.turns.has_changed() {
            let since_ns = self.clock.now_ns();
            asker.transact().await?;
            let at_ns = self.clock.now_ns();
            locked(&self.log).note(Transaction {
                way: self.way,
                peer: self.peer,
                at_ns,
                latency_ns: at_ns.saturating_sub(since_ns),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Answers at once, and counts.
    struct Mirror {
        last: Vec<u8>,
        answers: Arc<AtomicU64>,
    }

    impl Link for Mirror {
        async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.last = bytes.to_vec();
            // As a network, it lets others run.
            tokio::task::yield_now().await;
            Ok(())
        }

        async fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
            bytes.copy_from_slice(&self.last);
            self.answers.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    async fn until(what: impl Fn() -> bool) {
        let wait = async {
            while !what() {
                tokio::task::yield_now().await;
            }
        };
        let patience = Duration::from_secs(60);
        tokio::time::timeout(patience, wait)
            .await
            .expect("within a minute");
    }

    #[tokio::test]
    async fn only_who_has_the_turn_has_transactions_and_they_end_with_it() {
        let (turn, turns) = watch::channel(None);
        let busy = Arc::new(AtomicUsize::new(0));
        let (noted, _unread) = log(1, BLANK);
        let noted = Arc::new(Mutex::new(noted));
        let answers = [Way::RawTcp, Way::Libp2p].map(|way| {
            let player = Player {
                way,
                peer: 0,
                load: Load {
                    payload: crate::payload::Payload::of_bytes(64),
                    pace: crate::config::Pace::Outstanding(1),
                },
                turns: turns.clone(),
                busy: Arc::clone(&busy),
                clock: Arc::new(Recorder::new(Capacity::default())),
                log: Arc::clone(&noted),
            };
            let answers = Arc::new(AtomicU64::new(0));
            tokio::spawn(player.play(Mirror {
                last: Vec::new(),
                answers: Arc::clone(&answers),
            }));
            answers
        });
        let turns = Turns { turn, busy };
        let seen = || [0, 1].map(|at: usize| answers[at].load(Ordering::SeqCst));
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(seen(), [0, 0], "nobody had a turn yet");
        for _ in 0..3 {
            for (at, way) in [Way::RawTcp, Way::Libp2p].into_iter().enumerate() {
                let before = seen();
                turns.give(Some(way));
                until(|| seen()[at] > before[at] + 10).await;
                assert_eq!(seen()[1 - at], before[1 - at], "the other has no turn");
                turns.give(None);
                until(|| turns.are_over()).await;
                let after = seen();
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                assert_eq!(seen(), after, "nobody has a turn");
            }
        }
    }

    #[test]
    fn the_socket_is_beside_the_swarm() {
        for (swarm, socket) in [
            ("/ip4/10.1.2.3/tcp/4001", "10.1.2.3:7007"),
            ("/ip6/::1/tcp/0", "[::1]:7007"),
        ] {
            let swarm: Multiaddr = swarm.parse().expect("an address");
            assert_eq!(address(&swarm).expect("it has an IP").to_string(), socket);
        }
        let nameless: Multiaddr = "/dns/example.org/tcp/1".parse().expect("an address");
        assert!(address(&nameless).is_err());
    }
}
