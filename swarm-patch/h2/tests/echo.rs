//! Data that goes to and fro over HTTP/2 under budgets: no byte is lost, the budgets are in force, and the probe counts
//! as many polls of a connection as `tokio_metrics` counts polls of its task.
#![allow(clippy::unwrap_used)]

use bytes::{Bytes, BytesMut};
use h2::{client, server, RecvStream};
use http::{Request, Response};
use poll_probe::{Capacity, Mode, Outcome, Recorder, Variant};
use run_format::{Budgets, Site};
use tokio::io::DuplexStream;
use tokio::runtime;
use tokio::task::JoinSet;
use tokio_metrics::TaskMonitor;

const STREAMS: u8 = 8;
const BYTES: usize = 100_000;

async fn whole(mut body: RecvStream) -> Bytes {
    let mut bytes = BytesMut::new();
    while let Some(received) = body.data().await {
        let chunk = received.unwrap();
        body.flow_control().release_capacity(chunk.len()).unwrap();
        bytes.extend_from_slice(&chunk);
    }
    bytes.freeze()
}

/// Echoes on this thread, whose polls are not recorded.
fn serve(io: DuplexStream) {
    let built = runtime::Builder::new_current_thread().build().unwrap();
    built.block_on(async {
        let mut connection = server::handshake(io).await.unwrap();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            tokio::spawn(async move {
                let bytes = whole(request.into_body()).await;
                let mut stream = respond.send_response(Response::new(()), false).unwrap();
                stream.send_data(bytes, true).unwrap();
            });
        }
    });
}

/// Every stream sends other bytes, and gets them back.
async fn exchange(sender: &client::SendRequest<Bytes>) {
    let mut streams = JoinSet::new();
    for number in 0..STREAMS {
        let sender = sender.clone();
        streams.spawn(async move {
            let sent = Bytes::from(vec![number; BYTES]);
            let mut ready = sender.ready().await.unwrap();
            let (response, mut stream) = ready.send_request(Request::new(()), false).unwrap();
            stream.send_data(sent.clone(), true).unwrap();
            let received = whole(response.await.unwrap().into_body()).await;
            assert_eq!(received, sent);
        });
    }
    while let Some(ended) = streams.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test]
async fn no_byte_is_lost_and_polls_are_those_of_the_task() {
    let recorder = Recorder::new(Capacity::default());
    recorder.attach();
    let (near, far) = tokio::io::duplex(1 << 16);
    std::thread::spawn(|| serve(far));
    let (sender, connection) = client::handshake(near).await.unwrap();
    let monitor = TaskMonitor::new();
    tokio::spawn(monitor.instrument(connection));
    for (budgets, limit) in [
        ("none", None),
        ("connection=1", Some(1)),
        ("connection=2/deferred", Some(2)),
    ] {
        exchange(&sender).await;
        let variant = Variant {
            budgets: budgets.parse::<Budgets>().unwrap().in_central(),
            mode: Mode::Minimal,
        };
        // Both counts begin and end between two polls, since this is the runtime's one thread.
        let installed = variant.install();
        recorder.drain(|_| {});
        let before = monitor.cumulative().total_poll_count;
        exchange(&sender).await;
        let after = monitor.cumulative().total_poll_count;
        let (mut polls, mut yielded, mut most) = (0, 0, 0);
        let drained = recorder.drain(|record| {
            assert_eq!(
                (Site::from(record.site), record.variant),
                (Site::Connection, installed)
            );
            polls += 1;
            yielded += u64::from(record.outcome == Outcome::Yielded);
            most = most.max(record.iterations.unwrap());
        });
        assert_eq!(drained.lost(Site::Connection.into()), 0);
        println!("{budgets}: {polls} polls, {yielded} yielded, at most {most} iterations");
        assert_eq!(polls, after - before, "{budgets}");
        assert_eq!(yielded > 0, limit.is_some(), "{budgets}");
        assert!(limit.is_none_or(|limit| most == limit), "{budgets}");
    }
}
