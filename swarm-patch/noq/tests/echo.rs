//! Data that goes to and fro over QUIC under budgets: no byte is lost, each budget ends polls of its site alone, and the
//! probe counts as many polls of drivers as `tokio_metrics` counts polls of their tasks.
#![allow(clippy::unwrap_used)]

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    pin::Pin,
    sync::Arc,
    thread,
    time::Instant,
};

use noq::{
    AsyncTimer, AsyncUdpSocket, ClientConfig, Endpoint, EndpointConfig, Runtime, ServerConfig,
    TokioRuntime,
    rustls::{RootCertStore, pki_types::PrivatePkcs8KeyDer},
};
use poll_probe::{Capacity, Mode, Outcome, Recorder, Site, Variant};
use tokio::{runtime, task::JoinSet};
use tokio_metrics::TaskMonitor;

const STREAMS: u8 = 8;
const BYTES: usize = 100_000;

/// Counts polls of tasks.
#[derive(Debug)]
struct Counting(TaskMonitor);

impl Runtime for Counting {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        tokio::spawn(self.0.instrument(task));
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        TokioRuntime.wrap_udp_socket(socket)
    }
}

fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

/// On a thread of its own, whose polls are not recorded.
fn serve(config: ServerConfig) -> SocketAddr {
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
async fn exchange(near: &Endpoint, far: SocketAddr) {
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

#[tokio::test]
async fn no_byte_is_lost_and_polls_are_those_of_the_tasks() {
    const SITES: [Site; 2] = [Site::QuicConnection, Site::QuicEndpoint];
    let recorder = Recorder::new(Capacity::default());
    recorder.attach();
    let certificate = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.der().clone()).unwrap();
    let chain = vec![certificate.cert.der().clone()];
    let far = serve(ServerConfig::with_single_cert(chain, key.into()).unwrap());

    let monitor = TaskMonitor::new();
    let counting = Arc::new(Counting(monitor.clone()));
    let near = Endpoint::new(EndpointConfig::default(), None, socket(), counting).unwrap();
    near.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots)).unwrap());
    for (budgets, bounded) in [
        ("none", None),
        ("quic-connection=1", Some(Site::QuicConnection)),
        ("quic-connection=3/deferred", Some(Site::QuicConnection)),
        ("quic-endpoint=1", Some(Site::QuicEndpoint)),
        ("quic-endpoint=1ns/deferred", Some(Site::QuicEndpoint)),
    ] {
        let variant = Variant {
            budgets: budgets.parse().unwrap(),
            mode: Mode::Children,
        };
        // Both counts begin and end between two polls, since this is the runtime's one thread.
        let installed = variant.install();
        recorder.drain(|_| {});
        let before = monitor.cumulative().total_poll_count;
        exchange(&near, far).await;
        let after = monitor.cumulative().total_poll_count;
        let mut counted = SITES.map(|site| (site, 0, 0, 0));
        let drained = recorder.drain(|record| {
            assert_eq!((record.variant, record.iterations), (installed, None));
            let of = counted.iter_mut().find(|it| it.0 == record.site);
            let (_, polls, yielded, children) = of.unwrap();
            *polls += 1;
            *yielded += u64::from(record.outcome == Outcome::Yielded);
            *children += record.children.len() as u64;
        });
        println!("{budgets}: polls, yields and children {counted:?}");
        let polls = counted.iter().map(|it| it.1).sum::<u64>();
        assert_eq!(polls, after - before, "{budgets}");
        for (site, polls, yielded, children) in counted {
            assert_eq!(drained.lost(site), 0);
            assert_eq!(yielded > 0, bounded == Some(site), "{budgets}: {site}");
            assert!(children > polls, "{budgets}: {site}");
        }
    }
}
