//! A bounded pipe for each connection. The memory transport, which is not bounded, brings its ends together.

use std::collections::BTreeMap;
use std::sync::Mutex;

use libp2p::Multiaddr;
use libp2p::core::ConnectedPoint;
use node_kit::gate::PIPE_BYTES;
use node_kit::locked;
use tokio::io::{DuplexStream, duplex};
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};

/// The end of a listener, by where it listens, from the dial to the accept.
static DIALLED: Mutex<BTreeMap<Multiaddr, DuplexStream>> = Mutex::new(BTreeMap::new());

/// The end that takes the place of an unbounded stream.
pub(super) fn end<S>(_: S, point: ConnectedPoint) -> Compat<DuplexStream> {
    // The rest of an address names the node.
    let port = |address: &Multiaddr| address.iter().take(1).collect::<Multiaddr>();
    let mut dialled = locked(&DIALLED);
    let end = match &point {
        ConnectedPoint::Dialer { address, .. } => {
            let (ours, theirs) = duplex(PIPE_BYTES);
            dialled.insert(port(address), theirs);
            ours
        }
        ConnectedPoint::Listener { local_addr, .. } => dialled
            .remove(&port(local_addr))
            .expect("the dialler comes first"),
    };
    end.compat()
}
