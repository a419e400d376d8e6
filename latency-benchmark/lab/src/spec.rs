//! What a lab is to be.

use std::{fmt, path::Path, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Jitter, Loss, Placement, Rtt};

/// The most peers that a lab can have; each takes a byte of the address.
pub const MAX_PEERS: usize = 250;

/// Everything that decides how a lab is wired.
#[derive(Clone, Debug)]
pub struct LabSpec {
    /// From 1 to [`MAX_PEERS`].
    pub peers: usize,
    /// Of every link.
    pub rtt: Rtt,
    /// What delays the packets, where there is a delay.
    pub backend: Backend,
    /// In each direction, at random.
    pub loss: Option<Loss>,
    /// In each direction.
    pub jitter: Option<Jitter>,
    /// Of every TCP connection over the links.
    pub congestion_control: String,
    /// Of every namespace.
    pub tcp_buffers: TcpBuffers,
    /// Where the processes run.
    pub placement: Placement,
    /// How much too early the delay line may release packets, to make up for waking up late.
    pub lead: Duration,
    /// How the delay line is started.
    pub delay_line: DelayLineCommand,
}

impl LabSpec {
    /// A lab without delay and with the defaults for all else.
    pub fn new(peers: usize, placement: Placement) -> LabSpec {
        LabSpec {
            peers,
            rtt: Rtt::ZERO,
            backend: Backend::Auto,
            loss: None,
            jitter: None,
            congestion_control: "cubic".to_owned(),
            tcp_buffers: TcpBuffers::default(),
            placement,
            lead: DEFAULT_LEAD,
            delay_line: DelayLineCommand::default(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if !(1..=MAX_PEERS).contains(&self.peers) {
            return Err(SpecError::Peers(self.peers));
        }
        let option = match (self.loss, self.jitter) {
            (Some(loss), _) => Some(format!("loss of {loss}")),
            (None, Some(jitter)) => Some(format!("jitter of {jitter}")),
            (None, None) => None,
        };
        if let (Some(option), Backend::Nfqueue) = (option, self.backend) {
            return Err(SpecError::NetemOnly(option));
        }
        match self.jitter {
            Some(jitter) if jitter.duration() > self.rtt.one_way() => Err(SpecError::Jitter {
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

/// Waking a process up takes some tens of microseconds.
pub const DEFAULT_LEAD: Duration = Duration::from_micros(50);

/// What delays packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Netem where the kernel has it, else the delay line.
    #[default]
    Auto,
    /// The kernel's queueing discipline of that name.
    Netem,
    /// The delay line, a process that holds packets back by the kernel's NFQUEUE.
    Nfqueue,
}

impl FromStr for Backend {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Backend::Auto),
            "netem" => Ok(Backend::Netem),
            "nfqueue" => Ok(Backend::Nfqueue),
            other => Err(SpecError::Backend(other.to_owned())),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Backend::Auto => "auto",
            Backend::Netem => "netem",
            Backend::Nfqueue => "nfqueue",
        })
    }
}

/// The sizes that the kernel tunes TCP's buffers between, in bytes: least, initial, largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpBuffers {
    /// `net.ipv4.tcp_rmem`
    pub receive_bytes: [u32; 3],
    /// `net.ipv4.tcp_wmem`
    pub send_bytes: [u32; 3],
}

impl Default for TcpBuffers {
    /// The kernel's own but for the largest, which lets 2.5 Gbit/s through at a round trip of 200 ms.
    fn default() -> TcpBuffers {
        const LARGEST: u32 = 64 << 20;
        TcpBuffers {
            receive_bytes: [4096, 131_072, LARGEST],
            send_bytes: [4096, 16_384, LARGEST],
        }
    }
}

/// A program and its arguments that end up in [`delay_line::run`](crate::delay_line::run).
#[derive(Clone, Debug)]
pub struct DelayLineCommand {
    /// The program.
    pub program: std::path::PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Default for DelayLineCommand {
    /// This program again, with the verb `delay-line`.
    fn default() -> DelayLineCommand {
        DelayLineCommand {
            program: Path::new("/proc/self/exe").to_owned(),
            arguments: vec!["delay-line".to_owned()],
        }
    }
}

/// Why a lab cannot be as asked, whatever the machine.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// Too few or too many.
    #[error("{0} peers: a lab has from 1 to {MAX_PEERS}")]
    Peers(usize),
    /// An unknown name.
    #[error("unknown delay backend {0:?} (accepted: auto, netem, nfqueue)")]
    Backend(String),
    /// The delay line only delays.
    #[error("a {0} needs the netem backend; the NFQUEUE delay line only delays")]
    NetemOnly(String),
    /// A delay cannot be negative.
    #[error("a jitter of {jitter} is more than the delay in one direction, {one_way_ms} ms")]
    Jitter {
        /// As asked.
        jitter: Jitter,
        /// What it would have to stay below.
        one_way_ms: f64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cores, Sharing};

    fn spec() -> LabSpec {
        LabSpec::new(
            1,
            Placement {
                central: 0,
                peers: Cores::one(0),
                sharing: Sharing::Core,
            },
        )
    }

    #[test]
    fn loss_and_jitter_are_refused_for_the_delay_line() {
        let lossy = LabSpec {
            backend: Backend::Nfqueue,
            loss: "0.1%".parse().ok(),
            ..spec()
        };
        let error = lossy.check().expect_err("the delay line cannot");
        assert!(error.to_string().contains("a loss of 0.1% needs the netem"));
        let jittery = LabSpec {
            backend: Backend::Nfqueue,
            rtt: "50".parse().expect("a time"),
            jitter: "1ms".parse().ok(),
            ..spec()
        };
        let error = jittery.check().expect_err("the delay line cannot");
        assert!(
            error
                .to_string()
                .contains("a jitter of 1ms needs the netem")
        );
    }

    #[test]
    fn jitter_stays_below_the_delay() {
        let mut spec = LabSpec {
            rtt: "4".parse().expect("a time"),
            jitter: "2.5ms".parse().ok(),
            ..spec()
        };
        spec.check().expect_err("2 - 2.5 ms is negative");
        spec.jitter = "2ms".parse().ok();
        assert_eq!(spec.check(), Ok(()));
    }

    #[test]
    fn the_number_of_peers_is_bounded() {
        for peers in [0, MAX_PEERS + 1] {
            let spec = LabSpec { peers, ..spec() };
            assert_eq!(spec.check(), Err(SpecError::Peers(peers)));
        }
    }

    #[test]
    fn backends_are_known_by_the_names_they_show() {
        for backend in [Backend::Auto, Backend::Netem, Backend::Nfqueue] {
            assert_eq!(backend.to_string().parse(), Ok(backend));
        }
        "tbf".parse::<Backend>().expect_err("no such backend");
    }
}
