//! Encodes and decodes the messages of `nfnetlink_queue`.

use std::ffi::c_int;
use std::time::Duration;

use libc::{
    NF_ACCEPT, NFNL_SUBSYS_QUEUE, NFQA_CFG_CMD, NFQA_CFG_F_FAIL_OPEN, NFQA_CFG_F_GSO,
    NFQA_CFG_FLAGS, NFQA_CFG_MASK, NFQA_CFG_PARAMS, NFQA_CFG_QUEUE_MAXLEN, NFQA_PACKET_HDR,
    NFQA_TIMESTAMP, NFQA_VERDICT_HDR, NFQNL_CFG_CMD_BIND, NFQNL_COPY_META, NFQNL_MSG_CONFIG,
    NFQNL_MSG_PACKET, NFQNL_MSG_VERDICT_BATCH, NLA_TYPE_MASK, NLM_F_ACK, NLM_F_REQUEST,
    NLMSG_ERROR,
};
use nix::errno::Errno;

/// The size of two headers: length, type, flags, sequence and sender; family, version and queue.
const HEADER_BYTES: usize = 16 + 4;

/// The number of the queue. Each namespace has numbers of its own, so all can use the same.
pub(super) const QUEUE: u16 = 0;

/// Binds the queue, sets its length, and has the kernel keep large packets whole and tell only their metadata. It
/// also has the kernel drop and count a packet that finds no room: letting it through would deliver it undelayed,
/// ahead of others.
pub(super) fn bind(max_length: u32) -> Vec<u8> {
    let mask = NFQA_CFG_F_GSO | NFQA_CFG_F_FAIL_OPEN;
    let attributes: [(c_int, &[u8]); 5] = [
        (NFQA_CFG_CMD, &[NFQNL_CFG_CMD_BIND as u8, 0, 0, 0]),
        (NFQA_CFG_PARAMS, &[0, 0, 0, 0, NFQNL_COPY_META as u8]),
        (NFQA_CFG_QUEUE_MAXLEN, &max_length.to_be_bytes()),
        (NFQA_CFG_FLAGS, &NFQA_CFG_F_GSO.to_be_bytes()),
        (NFQA_CFG_MASK, &mask.to_be_bytes()),
    ];
    message(NFQNL_MSG_CONFIG, NLM_F_REQUEST | NLM_F_ACK, &attributes)
}

/// Releases every packet up to and including `last`.
pub(super) fn release(last: u32) -> Vec<u8> {
    let verdict = [NF_ACCEPT.to_be_bytes(), last.to_be_bytes()].concat();
    let attributes: [(c_int, &[u8]); 1] = [(NFQA_VERDICT_HDR, &verdict)];
    message(NFQNL_MSG_VERDICT_BATCH, NLM_F_REQUEST, &attributes)
}

fn message(kind: c_int, flags: c_int, attributes: &[(c_int, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend((of_queue(kind) as u16).to_ne_bytes());
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

pub(super) fn packet(message: &[u8]) -> Option<Packet> {
    if kind(message)? != of_queue(NFQNL_MSG_PACKET) {
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
pub(super) fn acknowledgement(message: &[u8]) -> Option<nix::Result<()>> {
    if kind(message)? != NLMSG_ERROR {
        return None;
    }
    let negative = i32::from_ne_bytes(message.get(16..20)?.try_into().ok()?);
    Some(match negative {
        0 => Ok(()),
        negative => Err(Errno::from_raw(-negative)),
    })
}

fn of_queue(kind: c_int) -> c_int {
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
        let bytes = release(0x0102_0304);
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
}
