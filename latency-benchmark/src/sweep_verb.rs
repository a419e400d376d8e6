//! The verb `sweep`, which `./sweep.sh` runs: checks the machine, builds, measures, explains and reports.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use lab::{Topology, move_thread_to};
use program::{
    ChildLimits, Failure, eprint_line, exit_code, in_one_line, interrupts_seen, wait_or_interrupt,
};
use run_format::SweepConfig;
use run_format::files::MANIFEST;
use run_format::search::is_search;

use crate::bundle::BundleArgs;
use crate::explain::args::ExplainArgs;
use crate::gate::args::GateArgs;
use crate::node_program::{NodeProgramArgs, analysis};
use crate::progress::{INTERRUPTED, MEASURED, SOME_FAILED};
use crate::search::{self, SearchArgs};
use crate::sweep::args::{AskedSweep, SweepArgs};
use crate::{bundle, explain, gate, manifest, sweep};

#[derive(Args)]
pub(crate) struct SweepVerbArgs {
    #[command(flatten)]
    sweep: SweepArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    bundle: BundleArgs,
    /// After the sweep, run the worst cells again to find out why they are slow, each subject by itself
    #[arg(long, help_heading = "After the sweep", conflicts_with = "shard")]
    explain: bool,
    /// Only measure: no check of the machine, no report
    #[arg(long, help_heading = "After the sweep", conflicts_with_all = ["SearchArgs", "explain"])]
    measure_only: bool,
}

pub(crate) fn run(args: SweepVerbArgs) -> Result<u8, Failure> {
    if let Some(file) = &args.bundle.bundle {
        return bundle::make(file, &args.sweep);
    }
    if args.gate.gate {
        return gate::run(&args.gate, &args.sweep);
    }
    if args.search.search || args.sweep.resume.as_deref().is_some_and(is_search) {
        return search(&args);
    }
    let asked = args.sweep.asked()?;
    let has_report = !args.measure_only;
    let given = &args.sweep.program;
    let (config, dir, program) = match &asked {
        AskedSweep::Measure(config, dir) if has_report => {
            (config.clone(), dir.clone(), given.clone())
        }
        AskedSweep::Resume(dir) if has_report => {
            let manifest = manifest::read(dir, MANIFEST)?;
            let program = given.with_stack_of(&manifest);
            (manifest.config, dir.clone(), program)
        }
        _ => return sweep::carry_out(asked, MANIFEST, given),
    };
    if args.explain {
        explain::args::refuse_multi_thread(&config)?;
    }
    prepare(&args, &program, &config)?;
    let cores = Topology::for_this_process()?.available();
    let mut code = sweep::carry_out(asked, MANIFEST, &program)?;
    if config.shard.is_some() {
        // All shards have one report.
        return Ok(code);
    }
    let goes_on = [MEASURED, SOME_FAILED].contains(&code);
    if args.explain && goes_on {
        let defaults = ExplainArgs::defaults(&dir, program)?;
        // The sweep has a report even if explaining fails.
        let explained = explain::run(defaults).unwrap_or_else(|failure| {
            let why = in_one_line(&failure.error);
            eprint_line(format!("error: --explain: {why}"));
            match interrupts_seen() {
                0 => SOME_FAILED,
                _ => INTERRUPTED,
            }
        });
        code = first_failure(code, explained);
    }
    // Sweeping has moved this process away from central's core, which a report may use.
    move_thread_to(&cores)?;
    Ok(first_failure(code, report(&dir)?))
}

fn search(args: &SweepVerbArgs) -> Result<u8, Failure> {
    let dir = args.search.begin_or_resume(&args.sweep)?;
    prepare(args, &args.sweep.program, &search::read(&dir)?.config)?;
    let cores = Topology::for_this_process()?.available();
    let code = search::run(&dir, &args.sweep, &cores)?;
    move_thread_to(&cores)?;
    Ok(first_failure(code, report(&dir)?))
}

fn prepare(
    args: &SweepVerbArgs,
    program: &NodeProgramArgs,
    config: &SweepConfig,
) -> Result<(), Failure> {
    if config.lab.peer_hosts.is_none() {
        // The check prints problems. It enters a lab, which a process cannot leave, so it needs a process of its own.
        const LIMITS: ChildLimits = ChildLimits {
            time: Duration::from_secs(120),
            bytes: 1 << 20,
        };
        let mut check = Command::new("/proc/self/exe");
        let checked = LIMITS.output(check.args(["preflight", "--brief"]));
        let checked = checked.context("the check of this machine")?;
        for said in [&checked.stdout, &checked.stderr] {
            if !said.is_empty() {
                eprint_line(String::from_utf8_lossy(said).trim_end());
            }
        }
        if !checked.status.success() {
            return Err(anyhow!(
                "no cell can run on this machine, see above (`latency-benchmark preflight` says what helps)"
            )
            .into());
        }
    }
    Ok(program.build_needed(&config.node, args.explain)?)
}

fn first_failure(one: u8, other: u8) -> u8 {
    if one == MEASURED { other } else { one }
}

fn report(dir: &Path) -> Result<u8> {
    let status = wait_or_interrupt(&mut analysis("report", dir)?, interrupts_seen());
    Ok(exit_code(status.context("analysis report")?))
}
