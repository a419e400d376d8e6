//! The command `vendor`.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use fs_err as fs;
use program::{Failure, bad_input, reject};
use swarm_patch::stacks::STACKS;
use swarm_patch::vendor::{Application, vendor};

const VENDOR_EXAMPLE: &str = "Example:
  swarm-patch vendor --for ../my-app
writes ../my-app/grafted/, and prints for ../my-app/Cargo.toml lines such as
  [patch.crates-io]
  libp2p-swarm = { path = \"grafted/libp2p-swarm-0.47.0\" }
  yamux-0_12_1 = { package = \"yamux\", path = \"grafted/yamux-0.12.1\" }
  yamux-0_13_6 = { package = \"yamux\", path = \"grafted/yamux-0.13.6\" }
The files of the application are only read.";

#[derive(Args)]
#[command(after_help = VENDOR_EXAMPLE)]
pub(crate) struct VendorArgs {
    /// The folder of the application. It has a Cargo.lock, or its workspace has one
    #[arg(long = "for", value_name = "DIR")]
    app: PathBuf,
    /// A new folder for the copies [default: `grafted` beside the application's Cargo.lock]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl VendorArgs {
    /// Writes the copies, and returns the text to print.
    pub(crate) fn run(&self) -> Result<String, Failure> {
        let (dir, shown) = (&self.app, self.app.display());
        if !dir.is_dir() {
            reject!("--for {shown}: not a folder (accepted: the folder of an application)");
        }
        let app = Application::read(dir).map_err(|error| {
            bad_input(anyhow!(
                "--for {shown}: {error} (accepted: the folder of a package with a Cargo.lock that is up to date, \
                 which `cargo update --workspace` makes)"
            ))
        })?;
        if app.with_sites().next().is_none() {
            let names = STACKS.map(|stack| stack.packages.join(", ")).join(", ");
            reject!(
                "--for {shown}: its Cargo.lock names none of the crates that can be grafted: {names}"
            );
        }
        if let Some(probe) = app.named("poll-probe").next() {
            let path = &probe.manifest_path;
            reject!(
                "--for {shown}: it has a poll-probe already, {path}. Remove what depends on it first: cargo refuses two of them in one program"
            );
        }
        let beside = || app.root().join("grafted");
        let out = new_folder(self.out.clone().unwrap_or_else(beside))?;
        Ok(vendor(&app, &out)?)
    }
}

/// The absolute path of a folder that does not exist or is empty.
fn new_folder(path: PathBuf) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let is_empty =
        |path: &Path| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    if path.symlink_metadata().is_ok() && !is_empty(&path) {
        reject!(
            "--out {shown}: it exists and is not an empty folder (accepted: a folder that does not exist yet)"
        );
    }
    let absolute = std::path::absolute(&path)?;
    let around = absolute.parent().map(fs::canonicalize);
    match (around, absolute.file_name()) {
        (Some(Ok(around)), Some(name)) => Ok(around.join(name)),
        _ => reject!(
            "--out {shown}: the folder around it does not exist (accepted: a new folder in one that exists)"
        ),
    }
}
