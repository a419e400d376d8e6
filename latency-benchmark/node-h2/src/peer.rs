//! A peer: echoes every request.

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use bytes::Bytes;
use h2::{RecvStream, server};
use http::{Request, Response};
use tokio::net::TcpListener;

use crate::stream::{ByteStream, CONNECTION_WINDOW, STREAM_WINDOW, whole};

pub(crate) async fn listen(at: SocketAddr) -> Result<Infallible> {
    let cannot = || format!("cannot listen on {at}");
    let listener = TcpListener::bind(at).await.with_context(cannot)?;
    node_kit::announce(&listener.local_addr()?.to_string());
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        // Central may be gone.
        tokio::spawn(async move { serve(stream).await.ok() });
    }
}

pub(crate) async fn serve(stream: impl ByteStream) -> Result<()> {
    let mut connection = server::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .handshake(stream)
        .await?;
    while let Some(asked) = connection.accept().await {
        let (request, respond) = asked?;
        tokio::spawn(async move { echo(request, respond).await.ok() });
    }
    Ok(())
}

async fn echo(
    request: Request<RecvStream>,
    mut respond: server::SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let bytes = whole(request.into_body()).await?;
    let mut stream = respond.send_response(Response::new(()), false)?;
    stream.send_data(bytes, true)
}
