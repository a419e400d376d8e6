//! The verb `bundled`, which the `run.sh` of a bundle starts: two sweeps, and one file to send back.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Error, Result};
use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use fs_err as fs;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use program::{Failure, exit_code, interrupts_seen, print_line, wait_or_interrupt, wait_within};
use tar::Builder;

use crate::node_program::analysis;
use crate::progress::{MEASURED, SOME_FAILED};

#[derive(Args)]
pub(crate) struct BundledArgs {
    /// The folder of the bundle, which becomes the root of all processes
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Time limit of each of the two sweeps
    #[arg(long, value_name = "TIME", default_value = "220s")]
    time: String,
}

/// The sweep compares the bound of yamux, the remedy, and both together.
#[rustfmt::skip]
const SWEEP: [&str; 17] = [
    "sweep", "--out", "results", "--peers", "5", "--rtt", "0", "--payload", "16KiB,64KiB,256KiB",
    "--budget", "none", "--budget", "muxer=1/deferred@both", "--budget", "flush=32KiB@both",
    "--budget", "flush=32KiB,muxer=1/deferred@both",
];
const WORKERS: [&str; 2] = ["1", "4"];

pub(crate) fn run(args: &BundledArgs) -> Result<u8, Failure> {
    match &args.root {
        Some(root) => Err(begin_in(root, &args.time).into()),
        None => measure(&args.time),
    }
}

/// Replaces this process by the same program, in a root where the loader finds its libraries. If this fails, it returns why.
fn begin_in(root: &Path, time: &str) -> Error {
    let entered = fs::canonicalize(root).map_err(Error::from);
    if let Err(error) = entered.and_then(|root| Ok(lab::enter_root(&root)?)) {
        return error;
    }
    let mut program = Command::new("/bin/latency-benchmark");
    program
        .args(["bundled", "--time", time])
        .env("LD_LIBRARY_PATH", "/lib")
        .env("XTABLES_LIBDIR", "/lib")
        // The user's own values name folders outside of the root.
        .env("TMPDIR", "/tmp")
        .env_remove("LAB_TOOLS");
    program.exec().into()
}

fn measure(time: &str) -> Result<u8, Failure> {
    let now = humantime::format_rfc3339_seconds(SystemTime::now());
    let date = now.to_string().replace(':', "-");
    let file = format!("send-back-{date}.tgz");
    let mut code = MEASURED;
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for workers in WORKERS {
        let name = format!("{date}-workers-{workers}");
        let mut sweep = Command::new("/proc/self/exe");
        sweep
            .args(SWEEP)
            .args(["--workers", workers, "--name", &name, "--time", time]);
        let swept = pass_on_interrupts(&mut sweep)?;
        if ![MEASURED, SOME_FAILED].contains(&swept) {
            return Ok(swept);
        }
        code = code.max(swept);
        let run = Path::new("results").join(&name);
        let packed = tempfile::tempdir()?;
        let mut pack = analysis("pack", &run)?;
        let status = wait_or_interrupt(
            pack.arg(packed.path()).stdout(Stdio::null()),
            interrupts_seen(),
        )?;
        if !status.success() {
            return Ok(exit_code(status)); // `analysis` has said why.
        }
        fs::copy(
            run.join("report/comment.md"),
            packed.path().join("comment.md"),
        )?;
        archive.append_dir_all(&name, packed.path())?;
    }
    fs::write(&file, archive.into_inner()?.finish()?)?;
    print_line(format!(
        "\nSend back the file {file}, which is beside run.sh."
    ));
    Ok(code)
}

/// Runs a command and passes interrupts on to it. It ends by itself soon after one.
fn pass_on_interrupts(command: &mut Command) -> Result<u8> {
    const LOOK_AROUND: Duration = Duration::from_millis(100);
    let mut passed_on = interrupts_seen();
    // The child has a process group of its own, so that an interrupt from a terminal reaches it once.
    let mut child = command.process_group(0).spawn()?;
    loop {
        if let Some(status) = wait_within(&mut child, LOOK_AROUND)? {
            return Ok(exit_code(status));
        }
        if interrupts_seen() > passed_on {
            passed_on += 1;
            kill(Pid::from_raw(i32::try_from(child.id())?), Signal::SIGTERM)?;
        }
    }
}
