//! The workload `rr`, and beside it its control: the same transactions between the same processes over TCP
//! sockets without libp2p. The two take turns, and while it is the turn of one the other does nothing.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context, Result, anyhow};
use futures::{
    StreamExt,
    future::{pending, poll_fn},
};
use libp2p::{Multiaddr, Swarm, identity::Keypair, multiaddr::Protocol};
use node_kit::{
    ConnectionCounts, Parent, Transaction, TransactionLog, Transactions, TurnSwitch, TurnTaker,
    central::{build_runtime, measure_aside, move_helpers},
    measure_beside_tcp, this_thread, transaction_log,
};
use poll_probe::{Capacity, Recorder};
use run_format::{
    config::Load,
    protocol::{CentralTask, Measured, NodeMessage},
    tables::TrafficPath,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{
    swarm::{self, refuse_loss},
    transaction::{Asker, ByteLink, echo},
    workload::{NodeWorkload, Rr, open_rr},
};

/// Where a peer answers without libp2p, besides the port that it reports. Every peer has an IP address of its own.
const PORT: u16 = 7007;

/// Answers on TCP sockets beside the swarm that is to listen at `listen`.
pub(crate) async fn serve(listen: &Multiaddr, load: Load) -> Result<()> {
    let address = address(listen)?;
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}"))?;
    tokio::spawn(async move {
        loop {
            // The kernel tells a client whose connection could not be accepted.
            if let Ok((socket, _)) = listener.accept().await
                && socket.set_nodelay(true).is_ok()
            {
                tokio::spawn(echo(socket, load.payload));
            }
        }
    });
    Ok(())
}

/// Connects to every peer by both paths, and has their turns measured. No poll is recorded and no co-tenant runs:
/// on central's worker there is nothing but what is compared.
pub(crate) fn run(task: CentralTask, peers: &[Multiaddr], parent: Parent) -> Result<Measured> {
    let workers = Arc::new(Mutex::new(Vec::new()));
    let note = {
        let workers = Arc::clone(&workers);
        move || {
            workers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(this_thread());
        }
    };
    let runtime = build_runtime(task.config.runtime, note)?;
    let (node, load) = (task.config.node, task.config.load);
    let service_cores = task.config.lab.placement.peers.clone();
    runtime.block_on(async move {
        let key = Keypair::generate_ed25519();
        let libp2p_polls = Arc::new(AtomicU64::new(0));
        let spawn = {
            let polls = Arc::clone(&libp2p_polls);
            move |task| {
                tokio::spawn(counted(task, Arc::clone(&polls)));
            }
        };
        let mut swarm = swarm::build(node, &key, Rr::behaviour(&key)?, spawn)?;
        let peers = swarm::connect(&mut swarm, peers, &ConnectionCounts::default()).await?;
        let workers = workers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        move_helpers(&workers, &service_cores)?;

        let (switch, turns) = TurnSwitch::new();
        let clock = Arc::new(Recorder::new(Capacity::default()));
        let (log, over) = transaction_log();
        let mut asking = JoinSet::new();
        for (number, (peer, at)) in peers.into_iter().enumerate() {
            let client = |path| Client {
                path,
                peer: number,
                load,
                turns: turns.clone(),
                clock: Arc::clone(&clock),
                log: Arc::clone(&log),
            };
            let at = address(&at)?;
            let socket = TcpStream::connect(at)
                .await
                .with_context(|| format!("cannot connect to {at}"))?;
            socket.set_nodelay(true)?;
            asking.spawn(client(TrafficPath::RawTcp).run(socket));
            let (client, control) = (client(TrafficPath::Libp2p), swarm.behaviour().new_control());
            asking.spawn(async move { client.run(open_rr(control, peer).await?).await });
        }
        let transactions = Transactions {
            over,
            switch,
            clock,
            workers,
            libp2p_polls,
        };
        let measured = measure_aside(service_cores, move || {
            parent.report(&NodeMessage::Connected { probe_ns: None });
            measure_beside_tcp(&task, transactions, &parent)
        })?;
        tokio::select! {
            failed = keep(&mut swarm) => match failed? {},
            Some(ended) = asking.join_next() => match ended?? {},
            measured = measured => measured.context("the measuring thread panicked")?,
        }
    })
}

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

async fn keep(swarm: &mut Swarm<<Rr as NodeWorkload>::Behaviour>) -> Result<Infallible> {
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

/// Has transactions with one peer by one path, one at a time, while it is the turn of that path.
struct Client {
    path: TrafficPath,
    peer: usize,
    load: Load,
    turns: TurnTaker,
    clock: Arc<Recorder>,
    log: TransactionLog,
}

impl Client {
    async fn run(mut self, link: impl ByteLink) -> Result<Infallible> {
        let (path, peer) = (self.path, self.peer + 1);
        let mut asker = Asker::new(link, self.load.payload);
        while self.turns.begin(path).await {
            self.turn(&mut asker)
                .await
                .with_context(|| format!("the link to peer {peer} broke ({path})"))?;
            self.turns.end();
        }
        // The measuring thread has ended, and says why.
        pending().await
    }

    async fn turn(&self, asker: &mut Asker<impl ByteLink>) -> io::Result<()> {
        while self.turns.goes_on() {
            let since_ns = self.clock.now_ns();
            asker.transact().await?;
            let at_ns = self.clock.now_ns();
            let over = Transaction {
                path: self.path,
                peer: self.peer,
                at_ns,
                latency_ns: at_ns.saturating_sub(since_ns),
            };
            self.log
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .note(over);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
