//! Data that goes to and fro over iroh under budgets: no byte is lost, and each budget ends polls of its site alone.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use iroh::endpoint::Connection;
use iroh::{EndpointAddr, SecretKey};
use iroh_node::{PROTOCOL, ask, endpoint, serve};
use poll_probe::{Capacity, Mode, Outcome, Recorder, Variant};
use run_format::{Budgets, Payload, Site, Workload};
use tokio::runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;

const STREAMS: u8 = 8;
const BYTES: usize = 100_000;
const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(180);

/// Serves on another thread, whose polls are not recorded.
fn serve_elsewhere() -> EndpointAddr {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut builder = runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().unwrap();
        let served = runtime.block_on(async {
            let endpoint = endpoint(Some(ANYWHERE), SecretKey::generate()).await?;
            let address = EndpointAddr::new(endpoint.id());
            let at = endpoint.bound_sockets()[0];
            tell.send(address.with_ip_addr(at)).unwrap();
            serve(
                &endpoint,
                Workload::RequestResponse,
                Payload::of_bytes(BYTES as u32),
            )
            .await
        });
        served.unwrap();
    });
    told.recv_timeout(PATIENCE).unwrap()
}

/// Every stream sends other bytes, and gets them back.
async fn exchange(connection: &Connection) {
    let mut streams = JoinSet::new();
    for number in 0..STREAMS {
        let connection = connection.clone();
        streams.spawn(async move {
            let sent = vec![number; BYTES];
            assert!(ask(&connection, &sent).await.unwrap() == sent);
        });
    }
    while let Some(ended) = streams.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test]
async fn no_byte_is_lost_and_budgets_are_in_force() {
    let all = exchange_under_budgets();
    timeout(PATIENCE, all).await.expect("it ends");
}

async fn exchange_under_budgets() {
    const SITES: [Site; 2] = [Site::QuicConnection, Site::QuicEndpoint];
    let recorder = Recorder::new(Capacity::default());
    recorder.attach();
    let key = SecretKey::generate();
    let central = endpoint(Some(ANYWHERE), key).await.unwrap();
    let connection = central.connect(serve_elsewhere(), PROTOCOL).await.unwrap();
    for (budgets, bounded) in [
        ("none", None),
        ("quic-connection=1", Some(Site::QuicConnection)),
        ("quic-connection=2/deferred", Some(Site::QuicConnection)),
        ("quic-endpoint=1ns", Some(Site::QuicEndpoint)),
        ("quic-endpoint=1ns/deferred", Some(Site::QuicEndpoint)),
    ] {
        exchange(&connection).await;
        let variant = Variant {
            budgets: budgets.parse::<Budgets>().unwrap().in_central(),
            mode: Mode::Minimal,
        };
        // Between two polls, since this is the runtime's one thread.
        let installed = variant.install();
        recorder.drain(|_| {});
        exchange(&connection).await;
        let mut counted = SITES.map(|site| (site, 0, 0));
        let drained = recorder.drain(|record| {
            assert_eq!(record.variant, installed);
            let counts = counted.iter_mut().find(|(site, ..)| record.site == *site);
            let (_, polls, yielded) = counts.unwrap();
            *polls += 1;
            *yielded += u32::from(record.outcome == Outcome::Yielded);
        });
        println!("{budgets}: {counted:?}");
        for (site, polls, yielded) in counted {
            assert_eq!(drained.lost(site.into()), 0);
            assert!(polls > 0, "{budgets}: {site}");
            assert_eq!(yielded > 0, bounded == Some(site), "{budgets}: {site}");
        }
    }
}
