//! Data that goes to and fro over quinn or over its fork noq. The test that includes this module names the crate `stack`, and
//! says how many bytes go.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;

use poll_probe::QuicCounts;
use tokio::runtime;
use tokio::task::JoinSet;

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
pub(crate) async fn exchange(near: &Endpoint, far: SocketAddr) -> Connection {
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
pub(crate) fn own_counts(connection: &Connection) -> [QuicCounts; 2] {
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
