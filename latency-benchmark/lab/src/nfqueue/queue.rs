//! The kernel's queue of held packets, one per namespace.

use std::os::fd::{AsRawFd, OwnedFd};
use std::{fs, io};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket,
    sockopt,
};

use super::message::{self, Packet, QUEUE};

/// Enough for seconds of small packets at a high rate.
const MAX_LENGTH_PACKETS: u32 = 1_000_000;

/// Room for messages that the delay line has not received yet. When it is full, the kernel drops packets.
const RECEIVE_BUFFER_BYTES: usize = 16 << 20;

/// Room for the metadata of a packet, which takes about 100 bytes.
const MESSAGE_BYTES: usize = 1024;

/// The receiving end of a queue. While a rule refers to the queue and no process has bound it, the kernel
/// drops the packets.
#[derive(Debug)]
pub(crate) struct PacketQueue {
    pub(super) socket: OwnedFd,
}

impl PacketQueue {
    pub(crate) fn bind() -> io::Result<PacketQueue> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkNetFilter,
        )?;
        enlarge_receive_buffer(&socket)?;
        let bind = message::bind(MAX_LENGTH_PACKETS);
        send(socket.as_raw_fd(), &bind, MsgFlags::empty())?;
        let mut buffer = [0; MESSAGE_BYTES];
        loop {
            let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            // Any other message is about a packet that arrived before the delay line was ready.
            if let Some(answer) = message::acknowledgement(&buffer[..length]) {
                answer?;
                return Ok(PacketQueue { socket });
            }
        }
    }

    /// The next packet that has arrived, if there is one. `ENOBUFS` if the socket's buffer overflowed, so that the kernel
    /// dropped packets.
    pub(super) fn next(&self) -> nix::Result<Option<Packet>> {
        let mut buffer = [0; MESSAGE_BYTES];
        loop {
            match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => {
                    if let Some(packet) = message::packet(&buffer[..length]) {
                        return Ok(Some(packet));
                    }
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
    }

    pub(super) fn release(&self, last: u32) -> nix::Result<()> {
        let verdict = message::release(last);
        send(self.socket.as_raw_fd(), &verdict, MsgFlags::empty()).map(drop)
    }
}

/// Only root of the host may exceed the machine's limit; root of a user namespace may not.
fn enlarge_receive_buffer(socket: &OwnedFd) -> nix::Result<()> {
    setsockopt(socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES)
        .or_else(|_| setsockopt(socket, sockopt::RcvBuf, &RECEIVE_BUFFER_BYTES))
}

/// The number of packets that the queue of the calling thread's namespace dropped because the queue or the
/// socket's buffer was full. `None` without a queue.
pub(crate) fn user_dropped() -> Option<u64> {
    dropped_in(&fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue").ok()?)
}

/// Columns: queue, owner, waiting, copy mode, copy range, dropped because the queue was full, dropped
/// because the socket's buffer was full, last id, a constant.
fn dropped_in(table: &str) -> Option<u64> {
    let mut queues = table.lines().filter_map(numbers);
    let columns = queues.find(|columns| columns.first() == Some(&QUEUE.into()))?;
    Some(columns.get(5)? + columns.get(6)?)
}

/// The columns of a line, if all are numbers.
pub(crate) fn numbers(line: &str) -> Option<Vec<u64>> {
    let columns = line.split_whitespace();
    columns.map(|column| column.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_at_the_queue_and_at_the_socket_are_added() {
        let table = "    0   4711    12 1     0     3     4       99  1\n";
        assert_eq!(dropped_in(table), Some(7));
    }

    #[test]
    fn without_a_queue_the_number_of_drops_is_unknown() {
        assert_eq!(dropped_in(""), None);
        assert_eq!(
            dropped_in("    7   4711    12 1     0     3     4       99  1\n"),
            None
        );
    }
}
