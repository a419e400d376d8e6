//! What both ends of a stream do alike.

use bytes::{Bytes, BytesMut};
use h2::RecvStream;
use tokio::io::{AsyncRead, AsyncWrite};

/// What HTTP/2 goes over.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Transport for T {}

/// As hyper's client has them by default. With those of h2, which are 64 KiB, large requests would wait for round trips.
pub(crate) const STREAM_WINDOW: u32 = 2 << 20;
pub(crate) const CONNECTION_WINDOW: u32 = 5 << 20;

/// All that a stream receives.
pub(crate) async fn whole(mut body: RecvStream) -> Result<Bytes, h2::Error> {
    let mut bytes = BytesMut::new();
    while let Some(part) = body.data().await {
        let part = part?;
        body.flow_control().release_capacity(part.len())?;
        bytes.extend_from_slice(&part);
    }
    Ok(bytes.freeze())
}
