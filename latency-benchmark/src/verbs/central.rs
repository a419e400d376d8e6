//! `central`

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use lab::Cores;
use libp2p::Multiaddr;
use poll_probe::{BUDGET_FORMS, Budgets};

use super::stdin;
use crate::{
    args::budgets::variants,
    args::node::{NodeArgs, PayloadArg},
    cell::{CentralTask, Told},
    config::{Plan, RunConfig, RuntimeConfig, VariantConfig, Workload},
    failure::{Failure, bad_input},
    node::{
        beside_tcp,
        central::{self, CentralConfig},
        linked::OnLoss,
    },
    slices::{self, BASELINE, BlockDone, Explain, Measured, Others, Task},
    soak::{self, SoakPlan},
    store::{rr::RrWriter, run_writer::RunWriter},
};

#[derive(Args)]
#[command(after_help = "Examples:
  latency-benchmark central --peer /ip4/192.0.2.7/tcp/4001/p2p/12D3KooW... --out results/two-machines
  latency-benchmark central --peer ... --budget none --budget muxer=2 --seconds 20 --out r

Writes the tables of a run (see RESULTS.md) into --out.")]
pub(crate) struct CentralArgs {
    /// A peer's address, as `peer` prints it; repeatable
    #[arg(
        long = "peer",
        value_name = "MULTIADDR",
        required_unless_present = "task"
    )]
    peers: Vec<Multiaddr>,
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    payload: PayloadArg,
    #[arg(long, value_name = "BUDGET", help = format!("Budgets to compare, repeatable, the first is the baseline: {BUDGET_FORMS} [default: none]"))]
    budget: Vec<Budgets>,
    /// How long to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// How long a slice is, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 250, value_parser = clap::value_parser!(u64).range(10..=600_000))]
    slice: u64,
    /// Worker threads of central's runtime
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,
    /// A new folder for the results
    #[arg(long, value_name = "DIR", required_unless_present = "task")]
    out: Option<PathBuf>,
    /// Take everything from standard input
    #[arg(long, hide = true)]
    task: bool,
}

pub(crate) fn run(args: CentralArgs) -> Result<ExitCode, Failure> {
    if args.task { for_a_cell() } else { alone(args) }
}

fn for_a_cell() -> Result<ExitCode, Failure> {
    let task: CentralTask = stdin::task()?;
    let stop = stdin::stop_or_end();
    let run = &task.config;
    let peers: Result<Vec<Multiaddr>, _> =
        task.peers.iter().map(|address| address.parse()).collect();
    let config = CentralConfig {
        node: run.node,
        load: run.load,
        runtime: run.runtime,
        peers: peers.context("a peer's address")?,
        on_loss: if task.soak.is_some() {
            OnLoss::Redial
        } else {
            OnLoss::Fail
        },
        service_cores: run.lab.placement.peers.clone(),
        seed: run.seed,
        explains_on: run.explain.as_ref().map(|_| run.lab.placement.central),
    };
    let told_block = |block| tell(&Told::Block(block));
    let measured = if run.node.workload == Workload::RrBesideTcp {
        let writer = RrWriter::create(&task.dir)?;
        beside_tcp::run(config, move |at_work| {
            tell(&Told::Connected { probe_ns: None });
            slices::rr::measure(at_work, &asked(&task), writer, &stop, told_block)
        })?
    } else if let Some(plan) = task.soak {
        rows(config, run, plan, stop)?
    } else {
        let writer = RunWriter::create(&task.dir, run.node.transport)?;
        central::run(config, move |observed| {
            tell(&Told::Connected {
                probe_ns: Some(observed.probe_ns),
            });
            slices::measure(observed, &asked(&task), writer, &stop, told_block)
        })?
    };
    tell(&Told::Measured {
        stop: measured.stop,
        blocks: measured.blocks,
        planned_ms: u64::try_from(measured.planned.as_millis()).unwrap_or(u64::MAX),
    });
    Ok(ExitCode::SUCCESS)
}

/// Measures the baseline of a run as a series of rows.
fn rows(
    config: CentralConfig,
    run: &RunConfig,
    plan: SoakPlan,
    stop: mpsc::Receiver<()>,
) -> Result<Measured> {
    let task = soak::measure::Task {
        plan,
        duration: Duration::from_millis(run.plan.max_ms),
        budgets: run.variants[BASELINE].budgets,
        peers: run.cell.peers,
        answers: run.node.workload.has_answers(),
    };
    central::run(config, move |observed| {
        tell(&Told::Connected {
            probe_ns: Some(observed.probe_ns),
        });
        soak::measure::measure(observed, task, &stop, |row| tell(&Told::Row(Box::new(row))))
    })
}

fn asked(task: &CentralTask) -> Task<'_> {
    let run = &task.config;
    Task {
        plan: run.plan,
        variants: &run.variants,
        peers: run.cell.peers,
        answers: run.node.workload.has_answers(),
        others: &task.others,
        seed: run.seed,
        explain: run.explain.as_ref().map(|config| Explain {
            config,
            dir: &task.dir,
        }),
    }
}

fn tell(told: &Told) {
    let line = serde_json::to_string(told).expect("plain data");
    // A cell that does not listen any more has ended this process, or is about to.
    let _ = writeln!(io::stdout(), "{line}");
}

/// Without a lab, against peers wherever they are.
fn alone(args: CentralArgs) -> Result<ExitCode, Failure> {
    let load = args.node.load(args.payload.payload)?;
    let variants = variants(&args.budget, &[Budgets::NONE], false)?;
    let out = args
        .out
        .ok_or_else(|| bad_input(anyhow!("--out is missing")))?;
    if out.exists() {
        return Err(bad_input(anyhow!(
            "--out {}: it is there already, and results are never overwritten",
            out.display()
        )));
    }
    let peers = args.peers.len();
    let answers = args.node.workload.has_answers();
    let transport = args.node.transport;
    let seed = rand::random();
    let config = CentralConfig {
        node: args.node.node()?,
        load,
        runtime: RuntimeConfig {
            workers: args.workers.into(),
            event_interval: None,
            global_queue_interval: None,
        },
        peers: args.peers,
        on_loss: OnLoss::Fail,
        service_cores: available_cores()?,
        seed,
        explains_on: None,
    };
    let plan = Plan {
        max_ms: args.seconds * 1000,
        ..Plan::for_rtt(lab::Rtt::ZERO, Some(args.slice))
    };
    let labels = variants.clone();
    let stop = until_interrupted()?;
    let measured = central::run(config, move |observed| -> Result<Measured> {
        std::fs::create_dir_all(&out)
            .with_context(|| format!("cannot create {}", out.display()))?;
        let writer = RunWriter::create(&out, transport)?;
        let task = Task {
            plan,
            variants: &variants,
            peers,
            answers,
            others: &Others::default(),
            seed,
            explain: None,
        };
        slices::measure(observed, &task, writer, &stop, |block| {
            show(&block, &labels)
        })
    })?;
    println!("{} blocks", measured.blocks);
    Ok(ExitCode::SUCCESS)
}

fn show(block: &BlockDone, variants: &[VariantConfig]) {
    let percent =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let ratios: Vec<String> = variants
        .iter()
        .zip(block.slow_percent.iter().zip(&block.margin_percent))
        .map(|(variant, (&slow, &margin))| {
            format!(
                "{} {} ± {} %",
                variant.label,
                percent(slow),
                percent(margin)
            )
        })
        .collect();
    println!("block {}: slow polls: {}", block.block, ratios.join(", "));
}

fn available_cores() -> Result<Cores> {
    Ok(lab::Topology::of_this_process()?.available().clone())
}

/// Ctrl-C finishes the slice.
fn until_interrupted() -> Result<mpsc::Receiver<()>> {
    let (tell, told) = mpsc::channel();
    let signals = crate::signals::Signals::block()?;
    thread::spawn(move || {
        while signals.wait().is_ok() {
            if tell.send(()).is_err() {
                std::process::exit(130);
            }
        }
    });
    Ok(told)
}
