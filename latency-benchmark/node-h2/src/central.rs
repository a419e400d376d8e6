//! Central: one connection to each peer, with requests on streams of their own.

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use h2::client::{self, SendRequest};
use http::Request;
use node_kit::{Central, RequestLog, StackTask, ask_at_pace};
use run_format::{Load, Measured};
use tokio::net::TcpStream;

use crate::stream::{ByteStream, CONNECTION_WINDOW, STREAM_WINDOW, whole};

pub(crate) fn run(central: Central, peers: Vec<SocketAddr>) -> Result<Measured> {
    let (spawn, connections) = (central.spawner(), central.connections());
    central.run(async move |task| {
        let mut senders = Vec::new();
        for peer in peers {
            connections.dialled();
            let cannot = || format!("cannot connect to {peer}");
            let stream = TcpStream::connect(peer).await.with_context(cannot)?;
            stream.set_nodelay(true)?;
            let connected = connect(stream, &spawn).await;
            senders.push(connected.with_context(|| format!("no HTTP/2 with {peer}"))?);
            connections.opened(true);
        }
        let load = task.config.load;
        Ok(async move |log: RequestLog| work(senders, load, log).await)
    })
}

pub(crate) async fn connect(
    stream: impl ByteStream,
    spawn: impl Fn(StackTask),
) -> Result<SendRequest<Bytes>> {
    let (sender, connection) = client::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .handshake(stream)
        .await?;
    // If the connection fails, its requests fail and report the error.
    spawn(Box::pin(async move {
        let _ = connection.await;
    }));
    Ok(sender)
}

/// Sends the load to the peers, each over its connection. It ends only with an error.
pub(crate) async fn work(
    senders: Vec<SendRequest<Bytes>>,
    load: Load,
    log: RequestLog,
) -> Result<Infallible> {
    let request = Bytes::from(vec![0; load.payload.len()]);
    let ask_peer = |peer: usize| ask(senders[peer].clone(), request.clone());
    ask_at_pace(senders.len(), load, log, ask_peer).await
}

/// Sends a request and waits for all of its answer.
async fn ask(sender: SendRequest<Bytes>, request: Bytes) -> Result<()> {
    let sent = request.len();
    let mut ready = sender.ready().await?;
    let (answer, mut stream) = ready.send_request(Request::new(()), false)?;
    stream.send_data(request, true)?;
    let answer = whole(answer.await?.into_body()).await?;
    let got = answer.len();
    ensure!(got == sent, "asked for {sent} bytes and got {got}");
    Ok(())
}
