//! The kernel's queue of held packets, one per namespace.

use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use nix::{
    errno::Errno,
    sys::socket::{
        AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, getsockopt, recv, send,
        setsockopt, socket, sockopt,
    },
};

use super::message::{self, Packet};

/// The number of the queue. Namespaces do not share numbers, so each uses the same.
const QUEUE: u16 = 0;

/// Seconds of small packets at a high rate.
const MAX_LENGTH_PACKETS: u32 = 1_000_000;

/// What the kernel may have told and the delay line not yet heard. Beyond it, packets are dropped.
const RECEIVE_BUFFER_BYTES: usize = 16 << 20;

/// Room for the metadata of a packet, which is some 100 bytes.
const MESSAGE_BYTES: usize = 1024;

/// The receiving end of a queue. Packets are dropped while a rule names it and nobody has it.
#[derive(Debug)]
pub(crate) struct Queue {
    socket: OwnedFd,
}

impl Queue {
    /// Takes over the queue of the namespace that the calling thread is in.
    pub(crate) fn bind() -> io::Result<Queue> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkNetFilter,
        )?;
        enlarge_receive_buffer(&socket)?;
        let queue = Queue { socket };
        for configuration in [
            message::bind(QUEUE),
            message::copy_metadata(QUEUE),
            message::hold(QUEUE, MAX_LENGTH_PACKETS),
        ] {
            queue.configure(&configuration)?;
        }
        Ok(queue)
    }

    fn configure(&self, configuration: &[u8]) -> nix::Result<()> {
        send(self.socket.as_raw_fd(), configuration, MsgFlags::empty())?;
        let mut buffer = [0; MESSAGE_BYTES];
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            // A packet that came in between is one that the rule caught before anyone was ready.
            if let Some(answer) = message::acknowledgement(&buffer[..length]) {
                return answer;
            }
        }
    }

    /// The next packet that is held, if there is one.
    pub(super) fn next(&self) -> Result<Option<Packet>, Lost> {
        let mut buffer = [0; MESSAGE_BYTES];
        loop {
            match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => {
                    if let Some(packet) = message::packet(&buffer[..length]) {
                        return Ok(Some(packet));
                    }
                }
                Err(Errno::EINTR) => {}
                Err(Errno::ENOBUFS) => return Err(Lost::Full),
                Err(Errno::EAGAIN) => return Ok(None),
                Err(errno) => return Err(Lost::Broken(errno)),
            }
        }
    }

    /// Lets go all packets up to `last`.
    pub(super) fn release(&self, last: u32) -> nix::Result<()> {
        let verdict = message::release(QUEUE, last);
        send(self.socket.as_raw_fd(), &verdict, MsgFlags::empty()).map(drop)
    }

    /// What the kernel granted, in its own accounting.
    pub(super) fn receive_buffer_bytes(&self) -> nix::Result<usize> {
        getsockopt(&self.socket, sockopt::RcvBuf)
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Why a packet was not heard of.
pub(super) enum Lost {
    /// The socket's buffer overflowed, and the packets behind it were dropped.
    Full,
    /// The socket is of no use any more.
    Broken(Errno),
}

/// The machine's limit is root's to exceed, root of the host; in a user namespace it holds.
fn enlarge_receive_buffer(socket: &OwnedFd) -> nix::Result<()> {
    setsockopt(socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES)
        .or_else(|_| setsockopt(socket, sockopt::RcvBuf, &RECEIVE_BUFFER_BYTES))
}

/// The packets dropped at the queue of the calling thread's namespace: it was too long, or the
/// socket's buffer was full. Without a queue there is no number.
pub(crate) fn user_dropped() -> Option<u64> {
    dropped_in(&fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue").ok()?)
}

/// Columns: queue, owner, waiting, copy mode, copy range, dropped for length, dropped for the
/// socket, last id, a constant.
fn dropped_in(table: &str) -> Option<u64> {
    table.lines().find_map(|line| {
        let columns: Vec<u64> = line
            .split_whitespace()
            .map(|column| column.parse().ok())
            .collect::<Option<_>>()?;
        (columns.first() == Some(&u64::from(QUEUE)))
            .then(|| Some(columns.get(5)? + columns.get(6)?))
            .flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_those_of_the_length_and_those_of_the_socket() {
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
