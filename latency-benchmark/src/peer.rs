//! The verb `peer`: runs one peer alone, for measurements between hosts.

use std::io::{Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;
use clap::Args;
use program::Failure;
use run_format::{Listen, Measurement, PeerTask};

use crate::args::CellArgs;

#[derive(Args)]
#[command(after_help = "Examples:
  latency-benchmark peer --listen /ip4/0.0.0.0/tcp/4001
  latency-benchmark peer --listen /ip4/0.0.0.0/udp/4001/quic-v1 --transport quic

The first line on standard output is the address for `central --peer`. It serves until a signal ends it.")]
pub(crate) struct PeerArgs {
    /// Where to listen, in the form of the node's network stack
    #[arg(long, value_name = "ADDRESS", default_value = "/ip4/127.0.0.1/tcp/0")]
    listen: String,
    #[command(flatten)]
    cell: CellArgs,
}

pub(crate) fn run(args: PeerArgs) -> Result<u8, Failure> {
    let (node, load) = args.cell.node(usize::MAX)?;
    let program = args.cell.program.measuring(&node)?;
    let task = PeerTask {
        node,
        load,
        measurement: Measurement::Compare,
        listen: Listen::Address(args.listen),
        identity: None,
        elsewhere: false,
        budgets: Vec::new(),
        page: None,
    };
    let mut input = tempfile::tempfile().context("cannot make a temporary file")?;
    writeln!(input, "{}", serde_json::to_string(&task)?)?;
    input.rewind()?;
    let error = Command::new(&program).arg("peer").stdin(input).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))?
}
