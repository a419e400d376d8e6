//! `peer`

use std::{io, process::ExitCode};

use anyhow::Context;
use clap::Args;
use libp2p::Multiaddr;

use crate::{
    args::node::{NodeArgs, PayloadArg},
    failure::Failure,
    node::peer::{self, PeerTask},
};

#[derive(Args)]
#[command(after_help = "Examples:
  latency-benchmark peer --listen /ip4/0.0.0.0/tcp/4001
  latency-benchmark peer --listen /ip4/0.0.0.0/udp/4001/quic-v1 --transport quic   (with the feature quic)

The first line on standard output is the address for `central --peer`. Ends by a signal.")]
pub(crate) struct PeerArgs {
    /// Where to listen
    #[arg(long, value_name = "MULTIADDR", default_value = "/ip4/127.0.0.1/tcp/0")]
    listen: Multiaddr,
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    payload: PayloadArg,
    /// Take all but the address from standard input
    #[arg(long, hide = true)]
    config: bool,
}

pub(crate) fn run(args: PeerArgs) -> Result<ExitCode, Failure> {
    let task = if args.config {
        serde_json::from_reader(io::stdin()).context("standard input has no configuration")?
    } else {
        PeerTask {
            node: args.node.node()?,
            load: args.node.load(args.payload.payload)?,
            identity: None,
        }
    };
    match peer::run(&task, args.listen)? {}
}
