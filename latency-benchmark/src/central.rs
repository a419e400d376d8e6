//! The verb `central`: runs central alone, with peers that were started elsewhere.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use lab::{LabSpec, Topology};
use program::{Failure, exit_code, interrupts_seen, print, reject};
use run_format::{
    BUDGET_FORMS, BlockReport, Budgets, Cell, CentralTask, LabConfig, Measurement, NodeMessage,
    OtherProcesses, Placement, Plan, Rtt, RunConfig, Sharing, Stop, VariantConfig, plan,
};

use crate::args::{CellArgs, RuntimeArgs, refuse_both_ends, variants};
use crate::conversation::Conversation;
use crate::figures;
use crate::progress::{INTERRUPTED, MEASURED};
use crate::stopped::StoppedWatch;

#[derive(Args)]
#[command(after_help = "Examples:
  latency-benchmark central --peer /ip4/192.0.2.7/tcp/4001/p2p/12D3KooW... --out results/two-machines
  latency-benchmark central --peer ... --budget none --budget muxer=2 --seconds 20 --out r

Writes the tables of a run (see RESULTS.md) into --out. Ctrl-C finishes the slice.")]
pub(crate) struct CentralArgs {
    /// A peer's address, as `peer` prints it; repeatable
    #[arg(long = "peer", value_name = "ADDRESS", required = true)]
    peers: Vec<String>,
    #[command(flatten)]
    cell: CellArgs,
    #[arg(long, value_name = "BUDGET", help = format!("Budgets to compare, repeatable, the first is the baseline: {BUDGET_FORMS} [default: none]"))]
    budget: Vec<Budgets>,
    /// Seconds to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Length of a slice, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 250, value_parser = clap::value_parser!(u64).range(10..=600_000))]
    slice: u64,
    #[command(flatten)]
    runtime: RuntimeArgs,
    /// A new folder for the results
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(args: CentralArgs) -> Result<u8, Failure> {
    let out = args.out.clone();
    if out.exists() {
        reject!(
            "--out {}: it exists already, and results are never overwritten",
            out.display()
        );
    }
    let config = config(&args)?;
    refuse_both_ends(&args.budget, "peers are started by hand")?;
    let program = args.cell.program.measuring(&config.node)?;
    fs::create_dir_all(&out).with_context(|| format!("--out: cannot create {}", out.display()))?;
    let task = CentralTask {
        dir: out.canonicalize()?,
        peers: args.peers,
        others: OtherProcesses::default(),
        page: None,
        config,
    };
    let central = Conversation::start(Command::new(&program).arg("central"), &task);
    let mut central = central.with_context(|| format!("cannot start {}", program.display()))?;
    let mut code = MEASURED;
    let mut watch = StoppedWatch::new(central.process.child.id());
    loop {
        const LOOK_AROUND: Duration = Duration::from_millis(100);
        match central.messages.recv_timeout(LOOK_AROUND) {
            Ok(NodeMessage::Block(block)) => print(block_line(&block, &task.config.variants)),
            Ok(NodeMessage::Measured(measured)) => {
                print(format!("{} blocks", measured.blocks));
                if measured.stop == Stop::Interrupted {
                    code = INTERRUPTED;
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            // A central that has stalled ends with an error message of its own.
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(stopped) = watch.look() {
            return Err(anyhow!("{stopped}, so nothing is heard of it").into());
        }
        match interrupts_seen() {
            0 => {}
            1 if !central.is_overdue() => {
                central.ask_to_stop();
            }
            _ => return Ok(INTERRUPTED),
        }
    }
    let status = central.process.child.wait()?;
    if !status.success() {
        // It has printed why.
        let _ = fs::remove_dir(&out);
        return Ok(exit_code(status));
    }
    Ok(code)
}

/// There is no lab, and all processes run on all cores.
fn config(args: &CentralArgs) -> Result<RunConfig, Failure> {
    let placement = Placement {
        central: 0,
        workers: None,
        peers: Topology::of_this_process()?.available(),
        sharing: Sharing::Core,
    };
    let stack = args.cell.program.stack;
    let (node, load) = args.cell.node(args.peers.len())?;
    Ok(RunConfig {
        cell: Cell {
            peers: args.peers.len(),
            rtt_ms: Rtt::ZERO,
            payload_bytes: load.payload,
        },
        run: 1,
        subject: None,
        beside: 0,
        layout: None,
        seed: u64::from(rand::random::<u32>()),
        load,
        runtime: args.runtime.runtime()?,
        variants: variants(stack, &node, &args.budget, &[Budgets::NONE], false)?,
        node,
        plan: Plan {
            max_ms: args.seconds * 1000,
            ..plan::run::long_slices(Rtt::ZERO, Some(args.slice))
        },
        lab: LabConfig {
            congestion_control: String::new(),
            ..LabSpec::new(args.peers.len(), placement).network
        },
        measurement: Measurement::Compare,
        jobs: None,
    })
}

fn block_line(block: &BlockReport, variants: &[VariantConfig]) -> String {
    let figures = figures::with_margins(block, variants);
    let figures = figures.map_or_else(String::new, |figures| format!(": {figures}"));
    format!("block {}{figures}", block.block)
}
