//! Data that goes to and fro over quinn, or over its fork noq: each names itself `stack`, and says how many bytes.

use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::Arc,
    thread,
};

use tokio::{runtime, task::JoinSet};

use super::{
    BYTES,
    stack::{
        ClientConfig, Endpoint, EndpointConfig, ServerConfig, TokioRuntime,
        rustls::{RootCertStore, pki_types::PrivatePkcs8KeyDer},
    },
};

const STREAMS: u8 = 8;

pub(crate) fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

/// Of a side that echoes, and of one that trusts it.
pub(crate) fn configs() -> (ServerConfig, ClientConfig) {
    let certificate = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.der().clone()).unwrap();
    let chain = vec![certificate.cert.der().clone()];
    (
        ServerConfig::with_single_cert(chain, key.into()).unwrap(),
        ClientConfig::with_root_certificates(Arc::new(roots)).unwrap(),
    )
}

/// On a thread of its own, whose polls are not recorded.
pub(crate) fn serve(config: ServerConfig) -> SocketAddr {
    let socket = socket();
    let at = socket.local_addr().unwrap();
    let echo = async {
        let (config, runtime) = (Some(config), Arc::new(TokioRuntime));
        let endpoint = Endpoint::new(EndpointConfig::default(), config, socket, runtime).unwrap();
        while let Some(incoming) = endpoint.accept().await {
            let connection = incoming.await.unwrap();
            while let Ok((mut send, mut receive)) = connection.accept_bi().await {
                tokio::spawn(async move {
                    let bytes = receive.read_to_end(BYTES).await.unwrap();
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

/// Over a new connection, every stream sends other bytes, and gets them back.
pub(crate) async fn exchange(near: &Endpoint, far: SocketAddr) {
    let connection = near.connect(far, "localhost").unwrap().await.unwrap();
    let mut streams = JoinSet::new();
    for number in 0..STREAMS {
        let connection = connection.clone();
        streams.spawn(async move {
            let sent = vec![number; BYTES];
            let (mut send, mut receive) = connection.open_bi().await.unwrap();
            send.write_all(&sent).await.unwrap();
            send.finish().unwrap();
            assert!(receive.read_to_end(BYTES).await.unwrap() == sent);
        });
    }
    while let Some(ended) = streams.join_next().await {
        ended.unwrap();
    }
}
