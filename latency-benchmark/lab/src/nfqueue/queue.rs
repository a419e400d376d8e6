//! The kernel's queue of held packets, one per namespace, and the messages of `nfnetlink_queue` by which it is used.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;
use std::{fs, io};

use libc::{
    NF_ACCEPT, NFNL_SUBSYS_QUEUE, NFQA_CFG_CMD, NFQA_CFG_F_FAIL_OPEN, NFQA_CFG_F_GSO,
    NFQA_CFG_FLAGS, NFQA_CFG_MASK, NFQA_CFG_PARAMS, NFQA_CFG_QUEUE_MAXLEN, NFQA_PACKET_HDR,
    NFQA_TIMESTAMP, NFQA_VERDICT_HDR, NFQNL_CFG_CMD_BIND, NFQNL_COPY_META, NFQNL_MSG_CONFIG,
    NFQNL_MSG_PACKET, NFQNL_MSG_VERDICT_BATCH, NLA_TYPE_MASK, NLM_F_ACK, NLM_F_REQUEST,
    NLMSG_ERROR,
};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket,
    sockopt,
};

/// The size of two headers: length, type, flags, sequence and sender; family, version and queue.
const HEADER_BYTES: usize = 16 + 4;

/// The number of the queue. Each namespace has numbers of its own, so all can use the same.
const QUEUE: u16 = 0;

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
    /// Binds the queue, sets its length, and has the kernel keep large packets whole and tell only their metadata. It also
    /// has the kernel drop and count a packet that finds no room: letting it through would deliver it undelayed, ahead of
    /// others.
    pub(crate) fn bind() -> io::Result<PacketQueue> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkNetFilter,
        )?;
        // Only root of the host may exceed the machine's limit; root of a user namespace may not.
        setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER_BYTES))?;
        let mask = NFQA_CFG_F_GSO | NFQA_CFG_F_FAIL_OPEN;
        let attributes: [(c_int, &[u8]); 5] = [
            (NFQA_CFG_CMD, &[NFQNL_CFG_CMD_BIND as u8, 0, 0, 0]),
            (NFQA_CFG_PARAMS, &[0, 0, 0, 0, NFQNL_COPY_META as u8]),
            (NFQA_CFG_QUEUE_MAXLEN, &MAX_LENGTH_PACKETS.to_be_bytes()),
            (NFQA_CFG_FLAGS, &NFQA_CFG_F_GSO.to_be_bytes()),
            (NFQA_CFG_MASK, &mask.to_be_bytes()),
        ];
        let bind = message(NFQNL_MSG_CONFIG, NLM_F_REQUEST | NLM_F_ACK, &attributes);
        send(socket.as_raw_fd(), &bind, MsgFlags::empty())?;
        let mut buffer = [0; MESSAGE_BYTES];
        loop {
            let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            // Any other message is about a packet that arrived before the delay line was ready.
            if let Some(answer) = acknowledgement(&buffer[..length]) {
                answer?;
                return Ok(PacketQueue { socket });
            }
        }
    }

    /// The next packet that has arrived, if there is one. Fails with `ENOBUFS` if the socket's buffer overflowed, so that the
    /// kernel dropped packets.
    pub(super) fn next(&self) -> nix::Result<Option<Packet>> {
        let mut buffer = [0; MESSAGE_BYTES];
        loop {
            match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => {
                    if let Some(packet) = packet(&buffer[..length]) {
                        return Ok(Some(packet));
                    }
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Releases every packet up to and including `last`.
    pub(super) fn release(&self, last: u32) -> nix::Result<()> {
        send(self.socket.as_raw_fd(), &verdict(last), MsgFlags::empty()).map(drop)
    }
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

fn verdict(last: u32) -> Vec<u8> {
    let verdict = [NF_ACCEPT.to_be_bytes(), last.to_be_bytes()].concat();
    let attributes: [(c_int, &[u8]); 1] = [(NFQA_VERDICT_HDR, &verdict)];
    message(NFQNL_MSG_VERDICT_BATCH, NLM_F_REQUEST, &attributes)
}

fn message(kind: c_int, flags: c_int, attributes: &[(c_int, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend((queue_kind(kind) as u16).to_ne_bytes());
    bytes.extend((flags as u16).to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([0, 0]);
    bytes.extend(QUEUE.to_be_bytes());
    for (kind, value) in attributes {
        bytes.extend((4 + value.len() as u16).to_ne_bytes());
        bytes.extend((*kind as u16).to_ne_bytes());
        bytes.extend(*value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) id: u32,
    /// The arrival time on the wall clock, since its epoch, if the kernel notes arrival times.
    pub(super) arrived: Option<Duration>,
}

fn packet(message: &[u8]) -> Option<Packet> {
    if kind(message)? != queue_kind(NFQNL_MSG_PACKET) {
        return None;
    }
    let mut packet = None;
    let mut arrived = None;
    for (kind, value) in attributes(message.get(HEADER_BYTES..)?) {
        match kind {
            NFQA_PACKET_HDR => packet = Some(u32::from_be_bytes(*value.first_chunk()?)),
            NFQA_TIMESTAMP => {
                let (seconds, rest) = value.split_first_chunk()?;
                let seconds = Duration::from_secs(u64::from_be_bytes(*seconds));
                let us = u64::from_be_bytes(*rest.first_chunk()?);
                arrived = Some(seconds + Duration::from_micros(us));
            }
            _ => {}
        }
    }
    Some(Packet {
        id: packet?,
        arrived,
    })
}

/// Decodes the answer to a configuration message. `None` for any other message.
fn acknowledgement(message: &[u8]) -> Option<nix::Result<()>> {
    if kind(message)? != NLMSG_ERROR {
        return None;
    }
    let negative = i32::from_ne_bytes(message.get(16..20)?.try_into().ok()?);
    Some(match negative {
        0 => Ok(()),
        negative => Err(Errno::from_raw(-negative)),
    })
}

fn queue_kind(kind: c_int) -> c_int {
    (NFNL_SUBSYS_QUEUE << 8) | kind
}

fn kind(message: &[u8]) -> Option<c_int> {
    Some(u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?).into())
}

fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (c_int, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((c_int::from(kind) & NLA_TYPE_MASK, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(id: u32) -> Vec<u8> {
        let mut header = id.to_be_bytes().to_vec();
        header.extend([0x08, 0x00, 0]); // protocol and hook, which pad to a multiple of four
        let mut time = 7_u64.to_be_bytes().to_vec();
        time.extend(250_000_u64.to_be_bytes());
        let attributes: [(c_int, &[u8]); 3] = [
            (NFQA_PACKET_HDR, &header),
            (9, &[1, 2, 3]),
            (NFQA_TIMESTAMP, &time),
        ];
        message(NFQNL_MSG_PACKET, 0, &attributes)
    }

    #[test]
    fn a_packet_is_decoded_with_its_id_and_time() {
        let expected = Packet {
            id: 41,
            arrived: Some(Duration::from_millis(7250)),
        };
        assert_eq!(packet(&arrival(41)), Some(expected));
    }

    #[test]
    fn a_truncated_message_is_no_packet_or_one_without_a_time() {
        let whole = arrival(41);
        for length in 0..whole.len() {
            if let Some(packet) = packet(&whole[..length]) {
                assert_eq!((packet.id, packet.arrived), (41, None));
            }
        }
    }

    #[test]
    fn an_attribute_of_length_zero_ends_the_list() {
        assert_eq!(attributes(&[0; 8]).count(), 0);
    }

    #[test]
    fn a_verdict_contains_the_queue_and_the_last_packet() {
        let bytes = verdict(0x0102_0304);
        assert_eq!(bytes.len(), 32);
        assert_eq!(bytes[..4], 32_u32.to_ne_bytes());
        assert_eq!(bytes[18..20], QUEUE.to_be_bytes());
        assert_eq!(bytes[24..], [0, 0, 0, 1, 1, 2, 3, 4]);
    }

    #[test]
    fn an_error_is_decoded_from_its_message() {
        let mut bytes = vec![0; 36];
        bytes[4..6].copy_from_slice(&(NLMSG_ERROR as u16).to_ne_bytes());
        assert_eq!(acknowledgement(&bytes), Some(Ok(())));
        bytes[16..20].copy_from_slice(&(-libc::EPERM).to_ne_bytes());
        assert_eq!(acknowledgement(&bytes), Some(Err(Errno::EPERM)));
        assert_eq!(acknowledgement(&arrival(1)), None);
    }

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
