//! `--bundle` writes an archive that measures on a server without Rust and without a network.

mod measure;
mod system_files;

use std::env::consts::ARCH;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;
use fs_err as fs;
use program::{
    Failure, bad_input, how_it_ended, interrupts_seen, print_line, reject, system_tool_or_usr_bin,
};
use tar::{Builder, EntryType, Header};
use tempfile::NamedTempFile;

pub(crate) use self::measure::{BundledArgs, run};
use self::system_files::SystemFiles;
use crate::node_program::{analysis_program, this_program};
use crate::progress::MEASURED;
use crate::sweep::args::SweepArgs;

#[derive(Args)]
#[command(next_help_heading = "On a server")]
pub(crate) struct BundleArgs {
    /// Measure nothing, and write an archive for a server that has neither Rust nor a network. Unpacked there, its ./run.sh
    /// measures within 8 minutes what decides about the budgets, and names a file to send back
    #[arg(long, value_name = "FILE.tar.xz", conflicts_with_all = ["GridArgs", "ComparedArgs", "SubjectArgs", "NodeProgramArgs", "NodeArgs", "RuntimeArgs", "NetworkArgs", "HostArgs", "LengthArgs", "PartArgs", "NewRunArgs", "SearchArgs", "GateArgs", "resume", "explain", "measure_only"])]
    pub(crate) bundle: Option<PathBuf>,
}

/// The only folder at the top of the archive.
const FOLDER: &str = "poll-latency-bundle";
const README: &str = include_str!("README.txt");
const RUN: &str = include_str!("run.sh");
const LICENCES: [(&str, &str); 2] = [
    ("LICENSE-APACHE", include_str!("../../../LICENSE-APACHE")),
    ("LICENSE-MIT", include_str!("../../../LICENSE-MIT")),
];

pub(crate) fn make(file: &Path, args: &SweepArgs) -> Result<u8, Failure> {
    const MOST_MIB: u64 = 60;
    let shown = file.display();
    if !file.to_string_lossy().ends_with(".tar.xz") {
        reject!("--bundle {shown}: an unknown format (accepted: a name that ends in .tar.xz)");
    }
    if file.exists() {
        reject!("--bundle {shown}: it exists already (choose another name)");
    }
    let parent = file.parent().filter(|parent| *parent != Path::new(""));
    let written = NamedTempFile::new_in(parent.unwrap_or(Path::new(".")))
        .with_context(|| format!("--bundle {shown}"))
        .map_err(bad_input)?;
    let node = args.node.node(args.program.stack)?;
    args.program.build_needed(&node, false)?;
    let own = [
        this_program()?,
        analysis_program()?,
        args.program.measuring(&node)?,
    ];
    let system = SystemFiles::find(&own)?;
    compress(written.as_file(), |archive| fill(archive, &own, &system))?;
    let mib = written.as_file().metadata()?.len().div_ceil(1 << 20);
    if mib > MOST_MIB {
        reject!("--bundle {shown}: it would have {mib} MiB (accepted: at most {MOST_MIB})");
    }
    let readable = Permissions::from_mode(0o644);
    written.as_file().set_permissions(readable)?;
    written.persist_noclobber(file)?;
    let name = file.file_name().unwrap_or_default().display();
    print_line(format!(
        "{shown}: {mib} MiB. On the server: tar -xJf {name} && {FOLDER}/run.sh"
    ));
    Ok(MEASURED)
}

type Archive = Builder<ChildStdin>;

/// Has xz compress into `out` the archive that `fill` writes.
fn compress(out: &File, fill: impl FnOnce(&mut Archive) -> Result<()>) -> Result<()> {
    let mut xz = Command::new(system_tool_or_usr_bin("xz"))
        // A higher level takes up to four times as long and saves a sixth of the size.
        .args(["-1", "--threads=0"])
        .stdin(Stdio::piped())
        .stdout(out.try_clone()?)
        .spawn()
        .context("cannot start xz (install it: `apt-get install -y xz-utils`)")?;
    let input = xz.stdin.take().context("xz has no input")?;
    let mut archive = Builder::new(input);
    let filled = fill(&mut archive);
    // xz ends once its input is closed.
    let finished = archive.into_inner().map(drop);
    let status = xz.wait()?;
    ensure!(status.success(), "xz {}", how_it_ended(status));
    filled?;
    Ok(finished?)
}

fn fill(archive: &mut Archive, own: &[PathBuf], system: &SystemFiles) -> Result<()> {
    for folder in ["proc/", "sys/", "dev/", "tmp/"] {
        add(archive, folder, 0o755, &[])?;
    }
    let commit = option_env!("BENCHMARK_COMMIT").unwrap_or("unknown");
    let filled_in = |text: &str| {
        let text = text.replace("{loader}", &system.loader);
        text.replace("{commit}", commit).replace("{arch}", ARCH)
    };
    add(archive, "README", 0o644, filled_in(README).as_bytes())?;
    add(archive, "run.sh", 0o755, filled_in(RUN).as_bytes())?;
    for (name, text) in LICENCES {
        add(archive, name, 0o644, text.as_bytes())?;
    }
    let (packages, licences) = system.packages();
    add(archive, "PACKAGES", 0o644, packages.as_bytes())?;
    for (name, path) in licences {
        let place = format!("licences/{name}");
        add(archive, &place, 0o644, &fs::read(path)?)?;
    }
    for program in own {
        let name = program.file_name().unwrap_or_default().display();
        add(archive, &format!("bin/{name}"), 0o755, &fs::read(program)?)?;
    }
    for (place, path) in &system.files {
        add(archive, place, 0o755, &fs::read(path)?)?;
    }
    Ok(())
}

/// Adds a file, or a folder if the name ends in a slash.
fn add(archive: &mut Archive, name: &str, mode: u32, content: &[u8]) -> Result<()> {
    ensure!(interrupts_seen() == 0, "--bundle: it was interrupted");
    let mut header = Header::new_ustar();
    header.set_mode(mode);
    header.set_size(content.len() as u64);
    if name.ends_with('/') {
        header.set_entry_type(EntryType::Directory);
    }
    Ok(archive.append_data(&mut header, format!("{FOLDER}/{name}"), content)?)
}
