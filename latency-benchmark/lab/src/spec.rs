//! The specification of a lab.

use lab_types::{
    Backend, Jitter, LabConfig, Loss, MAX_PEERS, Placement, ReceiveOn, Rtt, TcpBuffers,
};

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

    /// The lab of cells with so many peers, over links of that round-trip time.
    pub fn of(peers: usize, rtt: Rtt, network: &LabConfig) -> LabSpec {
        LabSpec {
            rtt,
            backend: network.backend,
            loss: network.loss_percent,
            jitter: network.jitter_ms,
            congestion_control: network.congestion_control.clone(),
            receive_on: network.receive_on,
            ..LabSpec::new(peers, network.placement.clone())
        }
    }

    /// Refuses what no machine can provide.
    pub fn check(&self) -> Result<(), LabSpecError> {
        let LabSpec { peers, rtt, .. } = self;
        let is_too_large = |jitter: &Jitter| jitter.duration() > rtt.one_way();
        Err(LabSpecError(if !(1..=MAX_PEERS).contains(peers) {
            format!("--peers {peers}: a cell has from 1 to {MAX_PEERS} peers")
        } else if self.backend == Backend::Nfqueue && self.is_impaired() {
            "--delay nfqueue: the delay line only delays; --loss and --jitter need netem (accepted: --delay netem)".to_owned()
        } else if let Some(jitter) = self.jitter.filter(is_too_large) {
            format!(
                "--jitter {jitter}: larger than the one-way delay of cells with RTT {rtt} ms (choose a smaller --jitter, or leave that --rtt out)"
            )
        } else {
            return Ok(());
        }))
    }

    pub(crate) fn is_impaired(&self) -> bool {
        self.loss.is_some() || self.jitter.is_some()
    }
}

/// Why no machine, or not this one, can provide the requested lab.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct LabSpecError(pub(crate) String);

#[cfg(test)]
mod tests {
    use super::*;
    use lab_types::{Cores, Sharing};

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
        for (loss, jitter) in [("0.1%", ""), ("", "1ms"), ("0.1%", "1ms")] {
            let spec = LabSpec {
                backend: Backend::Nfqueue,
                rtt: "50".parse().expect("a time"),
                loss: loss.parse().ok(),
                jitter: jitter.parse().ok(),
                ..LabSpec::of_tests()
            };
            let refused = spec.check().expect_err("it needs netem").to_string();
            assert!(refused.starts_with("--delay nfqueue: "), "{refused}");
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
            let refused = spec.check().expect_err("there are too few or too many");
            let expected = format!("--peers {peers}: a cell has from 1 to 250 peers");
            assert_eq!(refused.to_string(), expected);
        }
    }
}
