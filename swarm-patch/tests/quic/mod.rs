//! Data that goes to and fro over quinn or over its fork noq. The test that includes this module names the crate `stack`, and
//! says how many bytes go.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;

use poll_probe::{Mode, Outcome, QuicCounts, Recorder, Variant};
use run_format::{Budgets, Site};
use tokio::runtime;
use tokio::task::JoinSet;
use tokio_metrics::TaskMonitor;

use super::stack::{
    ClientConfig, Connection, Endpoint, EndpointConfig, ServerConfig, TokioRuntime,
};

const STREAMS: u8 = 8;

pub(crate) fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

/// The configurations of a side that echoes, and of a side that trusts it.
pub(crate) fn configs() -> (ServerConfig, ClientConfig) {
    let certificate = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let key = super::stack::rustls::pki_types::PrivatePkcs8KeyDer::from(
        certificate.signing_key.serialize_der(),
    );
    let mut roots = super::stack::rustls::RootCertStore::empty();
    roots.add(certificate.cert.der().clone()).unwrap();
    let chain = vec![certificate.cert.der().clone()];
    (
        ServerConfig::with_single_cert(chain, key.into()).unwrap(),
        ClientConfig::with_root_certificates(Arc::new(roots)).unwrap(),
    )
}

/// Echoes on a thread of its own, whose polls are not recorded.
pub(crate) fn serve(config: ServerConfig) -> SocketAddr {
    let udp = socket();
    let at = udp.local_addr().unwrap();
    let echo = async {
        let runtime = Arc::new(TokioRuntime);
        let endpoint =
            Endpoint::new(EndpointConfig::default(), Some(config), udp, runtime).unwrap();
        while let Some(incoming) = endpoint.accept().await {
            let connection = incoming.await.unwrap();
            while let Ok((mut send, mut receive)) = connection.accept_bi().await {
                tokio::spawn(async move {
                    let bytes = receive.read_to_end(super::BYTES).await.unwrap();
                    send.write_all(&bytes).await.unwrap();
                    send.finish().unwrap();
                });
            }
        }
    };
    thread::spawn(|| {
        let mut builder = runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap().block_on(echo);
    });
    at
}

/// Opens a connection. Each of its streams sends other bytes, and gets them back.
async fn exchange(near: &Endpoint, far: SocketAddr) -> Connection {
    let connection = near.connect(far, "localhost").unwrap().await.unwrap();
    let mut streams = JoinSet::new();
    for number in 0..STREAMS {
        let connection = connection.clone();
        streams.spawn(async move {
            let sent = vec![number; super::BYTES];
            let (mut send, mut receive) = connection.open_bi().await.unwrap();
            send.write_all(&sent).await.unwrap();
            send.finish().unwrap();
            assert!(receive.read_to_end(super::BYTES).await.unwrap() == sent);
        });
    }
    while let Some(ended) = streams.join_next().await {
        ended.unwrap();
    }
    connection
}

/// Checks the probe's counts of the newest connection against the connection's own. Returns them, and the counts of all
/// sockets.
fn own_counts(connection: &Connection) -> [QuicCounts; 2] {
    let counts = poll_probe::quic_counts();
    let [.., newest, calls] = counts.as_slice() else {
        panic!("{counts:?}")
    };
    let own = connection.stats();
    assert_eq!(newest.connections, 1);
    assert!(newest.rtt_ns > 0 && newest.packets_sent > 0);
    assert_eq!(newest.datagrams_sent, own.udp_tx.datagrams);
    assert_eq!(newest.datagrams_received, own.udp_rx.datagrams);
    assert!(newest.datagrams_sent > 0 && newest.datagrams_received > 0);
    assert!(newest.acks_sent >= own.frame_tx.acks && newest.acks_sent > 0);
    assert!(newest.acks_received >= own.frame_rx.acks && newest.acks_received > 0);
    assert!(calls.send_calls > 0 && calls.receive_calls > 0);
    [*newest, *calls]
}

/// A connection whose streams sent their bytes under budgets.
pub(crate) struct Exchanged {
    pub(crate) connection: Connection,
    /// The counts of the connection, and those of all sockets.
    pub(crate) counts: [QuicCounts; 2],
    /// The polls of each of the two sites.
    pub(crate) polls: [u64; 2],
    pub(crate) children: [u64; 2],
}

/// Exchanges under budgets, which must end polls of the bounded site alone. The probe must count as many polls as the monitor.
pub(crate) async fn exchange_under(
    (budgets, bounded): (&str, Option<Site>),
    near: &Endpoint,
    far: SocketAddr,
    recorder: &Recorder,
    monitor: &TaskMonitor,
) -> Exchanged {
    const SITES: [Site; 2] = [Site::QuicConnection, Site::QuicEndpoint];
    let variant = Variant {
        budgets: budgets.parse::<Budgets>().unwrap().in_central(),
        mode: Mode::Children,
    };
    // Both counts begin and end between two polls, since this is the runtime's one thread.
    let installed = variant.install();
    recorder.drain(|_| {});
    let before = monitor.cumulative().total_poll_count;
    let connection = exchange(near, far).await;
    let counts = own_counts(&connection);
    let after = monitor.cumulative().total_poll_count;
    let (mut polls, mut yielded, mut children) = ([0; 2], [0; 2], [0; 2]);
    let drained = recorder.drain(|record| {
        assert_eq!((record.variant, record.iterations), (installed, None));
        let place = SITES.iter().position(|site| record.site == *site).unwrap();
        polls[place] += 1;
        yielded[place] += u64::from(record.outcome == Outcome::Yielded);
        children[place] += record.children.len() as u64;
    });
    println!("{budgets}: {polls:?} polls, {yielded:?} yielded, {children:?} children");
    assert_eq!(polls[0] + polls[1], after - before, "{budgets}");
    for (site, yielded) in SITES.into_iter().zip(yielded) {
        assert_eq!(drained.lost(site.into()), 0);
        assert_eq!(yielded > 0, bounded == Some(site), "{budgets}: {site}");
    }
    Exchanged {
        connection,
        counts,
        polls,
        children,
    }
}
