//! `rr`

use std::path::PathBuf;

use clap::Args;
use lab::Rtt;
use poll_probe::Budgets;

use crate::{
    args::{
        budgets::{or, refuse_twice},
        network::NetworkArgs,
    },
    config::{
        NodeConfig, Pace, Plan, Role, RuntimeConfig, Security, Transport, VariantConfig, Workload,
    },
    failure::{Failure, bad_input},
    grid::Axes,
    payload::Payload,
    store::{RR_MANIFEST, manifest::SweepConfig, new_folder},
    sweep::{
        self,
        args::{Asked, peers_in_range},
    },
};

#[derive(Args)]
#[command(after_help = "Examples:
  latency-benchmark rr                                     64 B, 256 B and 1 KiB to one peer, a minute in all
  latency-benchmark rr --payload 64B --security plaintext --seconds 60
  latency-benchmark rr --rtt 25 --peers 5 --name far
  analysis report results/far                              what libp2p adds to TCP, as one number

Each payload has one launch of the processes, in which libp2p and raw TCP take turns in blocks of random
order, raw TCP twice, which shows what chance does. Ctrl-C finishes the slice and keeps everything.
Exit codes: 0 every payload was measured; 1 some were not; 2 wrong arguments; 130 interrupted.")]
pub(crate) struct RrArgs {
    /// What a request carries, and its answer: bytes with a unit, such as 64B or 1KiB [default: 64B,256B,1KiB]
    #[arg(
        long,
        value_name = "SIZE,SIZE",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    payload: Vec<Payload>,
    /// How many peers, each with one request at a time
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_hyphen_values = true
    )]
    peers: usize,
    /// Round-trip time of every link in ms, with decimals
    #[arg(
        long,
        value_name = "MS",
        default_value = "0",
        allow_hyphen_values = true
    )]
    rtt: Rtt,
    /// What encrypts libp2p's connections
    #[arg(long, value_enum, default_value = "noise")]
    security: Security,
    #[command(flatten)]
    network: NetworkArgs,
    /// How long each payload is measured
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// How long a slice is, in ms; at least five round trips in any case [default: 250]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=600_000))]
    slice: Option<u64>,
    /// What the random orders come from [default: a random one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// The folder for runs
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// The run's name, a new folder there [default: date and time]
    #[arg(long)]
    name: Option<String>,
    /// Go on with the interrupted run in DIR, as it was asked for
    #[arg(long, value_name = "DIR", exclusive = true)]
    resume: Option<PathBuf>,
    /// Show what would be measured and how long it may take, and measure nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: RrArgs) -> Result<std::process::ExitCode, Failure> {
    sweep::carry_out(args.asked()?, RR_MANIFEST)
}

impl RrArgs {
    fn asked(self) -> Result<Asked, Failure> {
        if let Some(dir) = self.resume {
            return Ok(Asked::Resume(dir));
        }
        let config = self.config()?;
        if self.dry_run {
            return Ok(Asked::DryRun(config));
        }
        let name = new_folder::name(self.name)?;
        Ok(Asked::Measure(config, self.out.join(name)))
    }

    fn config(&self) -> Result<SweepConfig, Failure> {
        let payloads = or(
            &self.payload,
            [64, 256, 1024].map(Payload::of_bytes).to_vec(),
        );
        refuse_twice("--payload", &payloads)?;
        peers_in_range(&[self.peers])?;
        if payloads.iter().any(|size| size.bytes() == 0) {
            return Err(bad_input(anyhow::anyhow!(
                "--payload 0B: a request has at least 1 byte"
            )));
        }
        Ok(SweepConfig {
            axes: Axes {
                peers: vec![self.peers],
                rtt_ms: vec![self.rtt],
                payload_bytes: payloads,
            },
            variants: variants(),
            subjects: Vec::new(),
            node: NodeConfig {
                workload: Workload::RrBesideTcp,
                security: self.security,
                transport: Transport::Tcp,
                #[cfg(feature = "planted")]
                plant: None,
            }
            .checked()?,
            pace: Pace::Outstanding(1),
            runtime: RuntimeConfig {
                workers: 1,
                event_interval: None,
                global_queue_interval: None,
            },
            lab: self.network.checked(&[self.rtt])?,
            repeat: 1,
            slice_ms: self.slice,
            max_cell_ms: self.seconds * 1000,
            // Nothing stops early; what is asked for is time.
            precision: Plan::for_rtt(self.rtt, self.slice).precision,
            seed: self
                .seed
                .unwrap_or_else(|| u64::from(rand::random::<u32>())),
        })
    }
}

/// What takes turns.
fn variants() -> Vec<VariantConfig> {
    let variant = |label: &str, role| VariantConfig {
        label: label.to_owned(),
        role,
        budgets: Budgets::NONE,
    };
    vec![
        variant("raw-tcp", Role::Baseline),
        variant("raw-tcp (A/A)", Role::Twin),
        variant("libp2p", Role::Candidate),
    ]
}
