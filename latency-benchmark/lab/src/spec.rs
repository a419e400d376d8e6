//! The specification of a lab.

use anyhow::{Result, bail};
use run_format::{Backend, LabConfig, MAX_PEERS, Placement, ReceiveOn, Rtt};

#[derive(Clone, Debug)]
pub struct LabSpec {
    /// The number of peers, from 1 to [`MAX_PEERS`].
    pub peers: usize,
    pub rtt: Rtt,
    /// The settings that all links share.
    pub network: LabConfig,
}

impl LabSpec {
    /// A lab without delay and with default values for everything else.
    pub fn new(peers: usize, placement: Placement) -> LabSpec {
        LabSpec {
            peers,
            rtt: Rtt::ZERO,
            network: LabConfig {
                backend: Backend::Auto,
                loss_percent: None,
                jitter_ms: None,
                congestion_control: "cubic".to_owned(),
                receive_on: ReceiveOn::default(),
                placement,
                peer_hosts: None,
            },
        }
    }

    /// Refuses a lab that no machine can provide.
    pub fn check(&self) -> Result<()> {
        let LabSpec { peers, rtt, .. } = self;
        if !(1..=MAX_PEERS).contains(peers) {
            bail!("--peers {peers}: a cell has from 1 to {MAX_PEERS} peers");
        }
        if self.network.backend == Backend::Nfqueue && self.is_impaired() {
            bail!(
                "--delay nfqueue: the delay line only delays; --loss and --jitter need netem (accepted: --delay netem)"
            );
        }
        let is_too_large = |jitter: &Rtt| jitter.duration() > rtt.one_way();
        if let Some(jitter) = self.network.jitter_ms.filter(is_too_large) {
            bail!(
                "--jitter {jitter}ms: larger than the one-way delay of cells with RTT {rtt} ms (choose a smaller --jitter, or leave that --rtt out)"
            );
        }
        Ok(())
    }

    pub(crate) fn is_impaired(&self) -> bool {
        self.network.loss_percent.is_some() || self.network.jitter_ms.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_format::{Cores, Sharing};

    impl LabSpec {
        /// A lab with one peer and without delay.
        pub(crate) fn for_tests() -> LabSpec {
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
            let mut spec = LabSpec::for_tests();
            spec.rtt = "50".parse().expect("a time");
            spec.network.backend = Backend::Nfqueue;
            spec.network.loss_percent = run_format::loss(loss).ok();
            spec.network.jitter_ms = run_format::jitter(jitter).ok();
            let refused = spec.check().expect_err("it needs netem").to_string();
            assert!(refused.starts_with("--delay nfqueue: "), "{refused}");
        }
    }

    #[test]
    fn jitter_is_at_most_the_delay() {
        let mut spec = LabSpec::for_tests();
        spec.rtt = "4".parse().expect("a time");
        spec.network.jitter_ms = "2.5ms".parse().ok();
        spec.check().expect_err("2 - 2.5 ms is negative");
        spec.network.jitter_ms = "2ms".parse().ok();
        spec.check().expect("2 - 2 ms is zero");
    }

    #[test]
    fn the_number_of_peers_is_bounded() {
        for peers in [0, MAX_PEERS + 1] {
            let spec = LabSpec {
                peers,
                ..LabSpec::for_tests()
            };
            let refused = spec.check().expect_err("there are too few or too many");
            let expected = format!("--peers {peers}: a cell has from 1 to 250 peers");
            assert_eq!(refused.to_string(), expected);
        }
    }
}
