//! The specification of a lab.

use run_format::network::{Backend, Jitter, Loss, Placement, ReceiveOn, Rtt, TcpBuffers};

/// The largest number of peers in a lab. The peer's number is one byte of its address.
pub const MAX_PEERS: usize = 250;

/// Everything that decides how a lab is wired.
#[derive(Clone, Debug)]
pub struct LabSpec {
    /// From 1 to [`MAX_PEERS`].
    pub peers: usize,
    /// The round-trip time of every link.
    pub rtt: Rtt,
    /// What delays the packets, if the round-trip time is not zero.
    pub backend: Backend,
    /// Random loss in each direction.
    pub loss: Option<Loss>,
    /// Jitter in each direction.
    pub jitter: Option<Jitter>,
    /// The congestion control of every TCP connection over the links.
    pub congestion_control: String,
    /// The TCP buffer sizes of every namespace.
    pub tcp_buffers: TcpBuffers,
    /// The cores on which packets are received.
    pub receive_on: ReceiveOn,
    /// The cores on which the processes run.
    pub placement: Placement,
}

impl LabSpec {
    /// A lab without delay and with default values for everything else.
    pub fn new(peers: usize, placement: Placement) -> LabSpec {
        LabSpec {
            peers,
            rtt: Rtt::ZERO,
            backend: Backend::Auto,
            loss: None,
            jitter: None,
            congestion_control: "cubic".to_owned(),
            tcp_buffers: TcpBuffers::default(),
            receive_on: ReceiveOn::default(),
            placement,
        }
    }

    pub(crate) fn check(&self) -> Result<(), LabSpecError> {
        if !(1..=MAX_PEERS).contains(&self.peers) {
            return Err(LabSpecError::Peers(self.peers));
        }
        let option = match (self.loss, self.jitter) {
            (Some(loss), _) => Some(format!("loss of {loss}")),
            (None, Some(jitter)) => Some(format!("jitter of {jitter}")),
            (None, None) => None,
        };
        if let (Some(option), Backend::Nfqueue) = (option, self.backend) {
            return Err(LabSpecError::NetemOnly(option));
        }
        match self.jitter {
            Some(jitter) if jitter.duration() > self.rtt.one_way() => Err(LabSpecError::Jitter {
                jitter,
                one_way_ms: self.rtt.one_way().as_secs_f64() * 1e3,
            }),
            _ => Ok(()),
        }
    }

    pub(crate) fn is_impaired(&self) -> bool {
        self.loss.is_some() || self.jitter.is_some()
    }
}

/// Why no machine, or not this one, can provide the requested lab.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum LabSpecError {
    /// The number of peers is out of range.
    #[error("{0} peers: a lab has from 1 to {MAX_PEERS}")]
    Peers(usize),
    /// The delay line supports neither loss nor jitter.
    #[error("a {0} needs the netem backend; the nfqueue backend supports neither loss nor jitter")]
    NetemOnly(String),
    /// With this jitter, some delays would have to be negative.
    #[error("a jitter of {jitter} is more than the delay in one direction, {one_way_ms} ms")]
    Jitter {
        /// The requested jitter.
        jitter: Jitter,
        /// The largest possible jitter.
        one_way_ms: f64,
    },
    /// The kernel does not offer this congestion control.
    #[error(
        "the kernel has no congestion control {asked:?} (available: {available}; \
         as root, `modprobe tcp_NAME` may load another)"
    )]
    CongestionControl {
        /// The requested congestion control.
        asked: String,
        /// Those that the kernel offers.
        available: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_format::network::{Cores, Sharing};

    impl LabSpec {
        /// A lab with one peer and without delay.
        pub(crate) fn of_tests() -> LabSpec {
            let placement = Placement {
                central: 0,
                workers: None,
                peers: Cores::one(0),
                sharing: Sharing::Core,
            };
            LabSpec::new(1, placement)
        }
    }

    #[test]
    fn the_delay_line_refuses_loss_and_jitter() {
        for (loss, jitter, refused) in [
            ("0.1%", "", "loss of 0.1%"),
            ("", "1ms", "jitter of 1ms"),
            ("0.1%", "1ms", "loss of 0.1%"),
        ] {
            let spec = LabSpec {
                backend: Backend::Nfqueue,
                rtt: "50".parse().expect("a time"),
                loss: loss.parse().ok(),
                jitter: jitter.parse().ok(),
                ..LabSpec::of_tests()
            };
            let expected = LabSpecError::NetemOnly(refused.to_owned());
            assert_eq!(spec.check(), Err(expected));
        }
    }

    #[test]
    fn jitter_is_at_most_the_delay() {
        let mut spec = LabSpec {
            rtt: "4".parse().expect("a time"),
            jitter: "2.5ms".parse().ok(),
            ..LabSpec::of_tests()
        };
        spec.check().expect_err("2 - 2.5 ms is negative");
        spec.jitter = "2ms".parse().ok();
        assert_eq!(spec.check(), Ok(()));
    }

    #[test]
    fn the_number_of_peers_is_bounded() {
        for peers in [0, MAX_PEERS + 1] {
            let spec = LabSpec {
                peers,
                ..LabSpec::of_tests()
            };
            assert_eq!(spec.check(), Err(LabSpecError::Peers(peers)));
        }
    }
}
