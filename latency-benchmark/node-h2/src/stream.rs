//! Code for both ends of a stream.

use bytes::{Bytes, BytesMut};
use h2::RecvStream;
use tokio::io::{AsyncRead, AsyncWrite};

/// A stream of bytes in both directions, over which HTTP/2 goes.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> ByteStream for T {}

/// The default of hyper's client. With the 64 KiB of h2's default, large requests would wait for round trips.
pub(crate) const STREAM_WINDOW: u32 = 2 << 20;
/// The default of hyper's client, too.
pub(crate) const CONNECTION_WINDOW: u32 = 5 << 20;

/// Receives the whole body of a stream.
pub(crate) async fn whole(mut body: RecvStream) -> Result<Bytes, h2::Error> {
    let mut bytes = BytesMut::new();
    while let Some(part) = body.data().await.transpose()? {
        body.flow_control().release_capacity(part.len())?;
        bytes.extend_from_slice(&part);
    }
    Ok(bytes.freeze())
}
