//! Central: connects to its peers and sends them the load.

use anyhow::Result;
use libp2p::Multiaddr;
use libp2p::identity::Keypair;
use node_kit::{Central, RequestLog};
use run_format::{Measured, Measurement};

use crate::peer_swarm::{OnLoss, PeerSwarm};
use crate::swarm;
use crate::workload::{NodeWorkload, with_workload};

pub(crate) fn run(central: Central, peers: Vec<Multiaddr>) -> Result<Measured> {
    with_workload!(central.task().config.node, W => work::<W>(central, peers))
}

/// Runs central with a workload.
pub fn work<W: NodeWorkload + 'static>(
    central: Central,
    peers: Vec<Multiaddr>,
) -> Result<Measured> {
    let (spawn, connections) = (central.spawner(), central.connections());
    central.run(async move |task| {
        let key = Keypair::generate_ed25519();
        let transport = swarm::transport(&task.config.node, &key)?;
        let mut swarm = swarm::build(transport, &key, W::behaviour(&key)?, spawn);
        let connected = swarm::connect(&mut swarm, &peers, &connections).await?;
        let on_loss = match task.config.measurement {
            _ if W::CLOSES => OnLoss::Expect,
            Measurement::Soak(_) => OnLoss::Redial,
            Measurement::Compare | Measurement::Explain(_) | Measurement::Libp2pAndRawTcp => {
                OnLoss::Fail
            }
        };
        let load = task.config.load;
        let parts = task.config.node.parts(load);
        let peer_swarm = PeerSwarm::new(swarm, connected, connections, on_loss);
        Ok(async move |log: RequestLog| W::central(peer_swarm, parts, load, log).await)
    })
}
