//! The verb `sweep`, which `./sweep.sh` runs: checks the machine, builds, measures, explains and reports.

use std::{
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use lab::{Topology, move_to};
use program::{Failure, SYSTEM_PATH, exit_code, program_in, say, tool_folders};
use run_format::{config::SweepConfig, files::MANIFEST, search::is_search};

use crate::{
    analysis_program::analysis,
    explain::{self, args::ExplainArgs},
    interrupts::Interrupts,
    manifest,
    node_program::{self, NodeProgramArgs},
    progress::{MEASURED, SOME_FAILED},
    search::{self, SearchArgs},
    sweep::{
        self,
        args::{AskedSweep, SweepArgs},
    },
};

#[derive(Args)]
pub(crate) struct PipelineArgs {
    #[command(flatten)]
    sweep: SweepArgs,
    #[command(flatten)]
    search: SearchArgs,
    /// Then run the worst cells again to find out why they are slow
    #[arg(long, help_heading = "After the sweep", conflicts_with = "shard")]
    explain: bool,
    /// Neither check the machine before, nor report after
    #[arg(long, help_heading = "After the sweep", conflicts_with_all = ["SearchArgs", "explain"])]
    measure_only: bool,
}

pub(crate) fn run(args: PipelineArgs, interrupts: &Interrupts) -> Result<ExitCode, Failure> {
    if args.search.search || args.sweep.resumed().is_some_and(is_search) {
        return search(&args, interrupts);
    }
    let asked = args.sweep.asked()?;
    let goes_on = !args.measure_only;
    let (config, program) = match &asked {
        AskedSweep::Measure(config, _) if goes_on => (config.clone(), args.sweep.program.clone()),
        AskedSweep::Resume(dir) if goes_on => {
            let manifest = manifest::read(dir, MANIFEST)?;
            let program = args.sweep.program.again(&manifest);
            (manifest.config, program)
        }
        _ => {
            let (_, code) = sweep::carry_out(asked, MANIFEST, &args.sweep.program, interrupts)?;
            return Ok(code);
        }
    };
    if args.explain {
        explain::args::refuse(&config)?;
    }
    prepare(&args, &program, &config)?;
    let cores = Topology::of_this_process()?.available().clone();
    let (dir, mut code) = sweep::carry_out(asked, MANIFEST, &program, interrupts)?;
    // All shards have one report.
    let Some(dir) = dir.filter(|_| config.shard.is_none()) else {
        return Ok(code);
    };
    let goes_on = [MEASURED, SOME_FAILED].map(ExitCode::from).contains(&code);
    if args.explain && goes_on {
        let explained = ExplainArgs::defaults(dir.clone(), program);
        let explained = explain::run(explained, interrupts)?;
        code = first_failure(code, explained);
    }
    // The sweep has left central's core; a report may use it.
    move_to(&cores)?;
    Ok(first_failure(code, report(&dir)?))
}

fn search(args: &PipelineArgs, interrupts: &Interrupts) -> Result<ExitCode, Failure> {
    let dir = args.search.folder(&args.sweep)?;
    prepare(args, &args.sweep.program, &search::read(&dir)?.config)?;
    let cores = Topology::of_this_process()?.available().clone();
    let code = search::run(&dir, &args.sweep, &cores, interrupts)?;
    move_to(&cores)?;
    Ok(first_failure(code, report(&dir)?))
}

fn prepare(
    args: &PipelineArgs,
    program: &NodeProgramArgs,
    config: &SweepConfig,
) -> Result<(), Failure> {
    if config.lab.peer_hosts.is_none() {
        install_packages();
        check_machine()?;
    }
    if program.program.is_none() {
        node_program::build_needed(program.stack, &config.node, args.explain)?;
    }
    Ok(())
}

fn first_failure(one: ExitCode, other: ExitCode) -> ExitCode {
    if one == ExitCode::SUCCESS { other } else { one }
}

/// Installs the tools that the lab needs, where that is possible without asking.
fn install_packages() {
    const PACKAGES: [(&str, &str); 2] = [("ip", "iproute2"), ("iptables", "iptables")];
    let missing: Vec<&str> = PACKAGES
        .into_iter()
        .filter(|(tool, _)| !is_installed(tool))
        .map(|(_, package)| package)
        .collect();
    if missing.is_empty() || !is_installed("apt-get") {
        return;
    }
    let packages = missing.join(" ");
    if !nix::unistd::geteuid().is_root() {
        say(format!(
            "warning: packages are missing; install them by: sudo apt-get install {packages}"
        ));
        return;
    }
    say(format!("installing {packages}"));
    let script =
        format!("apt-get update && apt-get install --yes --no-install-recommends {packages}");
    let status = Command::new("/bin/sh")
        .args(["-c", &script])
        .env("PATH", SYSTEM_PATH)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        say("warning: they could not be installed");
    }
}

fn is_installed(name: &str) -> bool {
    program_in(tool_folders(), name).is_some()
}

/// Prints what is not as it should be. The check enters a lab, which only a process of its own can leave.
fn check_machine() -> Result<()> {
    let checked = Command::new("/proc/self/exe")
        .args(["preflight", "--brief"])
        .stdin(Stdio::null())
        .output()?;
    for said in [&checked.stdout, &checked.stderr] {
        if !said.is_empty() {
            say(String::from_utf8_lossy(said).trim_end());
        }
    }
    if !checked.status.success() {
        return Err(anyhow!("no cell can run on this machine, see above"));
    }
    Ok(())
}

fn report(dir: &Path) -> Result<ExitCode> {
    let status = analysis("report", dir)?
        .status()
        .context("cannot start analysis")?;
    Ok(ExitCode::from(exit_code(status)))
}
