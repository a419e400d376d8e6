//! The verb `rr`: measures requests over libp2p and over raw TCP, which take turns.

use std::path::PathBuf;

use clap::Args;
use program::Failure;
use run_format::files::RR_MANIFEST;
use run_format::{
    Axes, Budgets, Measurement, Payload, Role, RuntimeConfig, Security, SweepConfig, Transport,
    VariantConfig, Workload, plan,
};

use crate::args::{HostArgs, NewRunArgs, NodeArgs, RttArg, given_or, refuse_twice};
use crate::node_program::NodeProgramArgs;
use crate::sweep::args::AskedSweep;
use crate::sweep::carry_out;

#[derive(Args)]
#[command(after_help = "Examples:
  latency-benchmark rr                                     64 B, 256 B and 1 KiB to one peer, a minute in all
  latency-benchmark rr --payload 64B --security plaintext --seconds 60
  latency-benchmark rr --rtt 25 --peers 5 --name far
  analysis report results/far                              what libp2p adds to TCP, as one number

Each payload has one launch of the processes, in which libp2p and raw TCP take turns in blocks of random
order. Raw TCP has two turns in each block; the difference between these two is noise (the A/A control).
Ctrl-C finishes the slice and keeps everything.
Exit codes: 0 every payload was measured; 1 some were not; 2 wrong arguments; 130 interrupted.")]
pub(crate) struct RrArgs {
    /// Size of a request and of its answer: bytes with a unit, such as 64B or 1KiB [default: 64B,256B,1KiB]
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',')]
    #[arg(allow_hyphen_values = true)]
    payload: Vec<Payload>,
    /// Number of peers, each with one request at a time
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_hyphen_values = true)]
    peers: usize,
    #[command(flatten)]
    rtt: RttArg,
    /// What encrypts libp2p's connections
    #[arg(long, value_enum, default_value = "noise")]
    security: Security,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    program: NodeProgramArgs,
    /// Time that each payload is measured
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Length of a slice in ms; at least five round trips in any case [default: 250]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=600_000))]
    slice: Option<u64>,
    #[command(flatten)]
    new_run: NewRunArgs,
    /// Continue the interrupted run in DIR with its original options
    #[arg(long, value_name = "DIR", exclusive = true)]
    resume: Option<PathBuf>,
    /// Print what would be measured and how long it may take, and measure nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: RrArgs) -> Result<u8, Failure> {
    let asked = match &args.resume {
        Some(dir) => AskedSweep::Resume(dir.clone()),
        None if args.dry_run => AskedSweep::DryRun(args.config()?),
        None => AskedSweep::Measure(args.config()?, args.new_run.dir()?),
    };
    carry_out(asked, RR_MANIFEST, &args.program)
}

impl RrArgs {
    fn config(&self) -> Result<SweepConfig, Failure> {
        let default = [64, 256, 1024].map(Payload::of_bytes);
        let payloads = given_or(&self.payload, default.to_vec());
        refuse_twice("--payload", &payloads)?;
        let (peers, rtt) = (self.peers, self.rtt.rtt);
        let nodes = NodeArgs {
            workload: Some(Workload::Rr.into()),
            security: Some(self.security),
            transport: Some(Transport::Tcp),
            outstanding: None,
            rate: None,
        };
        Ok(SweepConfig {
            pace: nodes.pace(&payloads)?,
            axes: Axes {
                peers: vec![peers],
                rtt_ms: vec![rtt],
                payload_bytes: payloads,
                only: Vec::new(),
            },
            variants: variants(),
            subjects: Vec::new(),
            node: nodes.node(self.program.stack)?,
            runtime: RuntimeConfig::CURRENT_THREAD,
            lab: self.hosts.network(&[peers], &[rtt], 1)?,
            repeat: 1,
            far_repeat: None,
            turn_ms: self.slice,
            settle_ms: None,
            max_cell_ms: Some(self.seconds * 1000),
            time_scale: 1.0,
            // `rr` never stops early, whatever the precision is.
            precision: plan::run::long_slices(rtt, self.slice).precision,
            seed: self.new_run.seed(),
            measurement: Measurement::Libp2pAndRawTcp,
            shard: None,
            jobs: None,
        })
    }
}

fn variants() -> Vec<VariantConfig> {
    let variant = |label: &str, role| VariantConfig {
        label: label.to_owned(),
        role,
        budgets: Budgets::NONE,
    };
    vec![
        variant("raw-tcp", Role::Baseline),
        variant("raw-tcp (A/A)", Role::Control),
        variant("libp2p", Role::Candidate),
    ]
}
