//! Connects nodes by bounded pipes in memory or by pairs of sockets. libp2p's memory transport only dials and accepts here.
//! Its streams are unbounded, so a bounded pipe or a socket takes their place.

use std::collections::BTreeMap;
use std::sync::Mutex;

use libp2p::Multiaddr;
use libp2p::core::ConnectedPoint;
use node_kit::gate::PIPE_BYTES;
use node_kit::locked;
use tokio::io::{AsyncRead, DuplexStream, duplex};
use tokio::net::UnixStream;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};

static PIPES: Dialled<DuplexStream> = Dialled::new();
static SOCKETS: Dialled<UnixStream> = Dialled::new();

/// The end of a pipe that takes the place of an unbounded stream.
pub(super) fn pipe<S>(_: S, point: ConnectedPoint) -> Compat<DuplexStream> {
    PIPES.end(&point, || duplex(PIPE_BYTES))
}

/// A socket that takes the place of an unbounded stream.
pub(super) fn socket<S>(_: S, point: ConnectedPoint) -> Compat<UnixStream> {
    let pair = || UnixStream::pair().expect("the kernel has two more sockets");
    SOCKETS.end(&point, pair)
}

/// The ends for listeners, from the dial to the accept, by the address of the listener.
struct Dialled<T>(Mutex<BTreeMap<Multiaddr, T>>);

impl<T: AsyncRead> Dialled<T> {
    const fn new() -> Dialled<T> {
        Dialled(Mutex::new(BTreeMap::new()))
    }

    fn end(&self, point: &ConnectedPoint, pair: impl FnOnce() -> (T, T)) -> Compat<T> {
        // The rest of an address names the node.
        let port = |address: &Multiaddr| address.iter().take(1).collect::<Multiaddr>();
        let mut dialled = locked(&self.0);
        let end = match point {
            ConnectedPoint::Dialer { address, .. } => {
                let (ours, theirs) = pair();
                dialled.insert(port(address), theirs);
                ours
            }
            ConnectedPoint::Listener { local_addr, .. } => dialled
                .remove(&port(local_addr))
                .expect("the dialler comes first"),
        };
        end.compat()
    }
}
