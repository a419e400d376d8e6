//! Runs cargo and the compiler to ask about packages and versions, and reads the environment variables that change a build.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use program::{ChildLimits, user_tool};

use crate::cargo_run::first_error;

/// The cargo that runs this program, or the one in `PATH`.
pub(crate) fn cargo_path() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| user_tool("cargo").into())
}

/// The version, the commit and the host of the compiler that cargo runs in `dir`.
pub(super) fn rustc(dir: &Path) -> Result<String> {
    let program = env::var_os("RUSTC").unwrap_or_else(|| user_tool("rustc").into());
    let output = Command::new(program)
        .arg("-vV")
        .current_dir(dir)
        .output()
        .context("cannot run rustc")?;
    if !output.status.success() {
        bail!("rustc -vV: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The environment variables that change how cargo builds.
pub(super) fn flags() -> String {
    let mut flags: Vec<(OsString, OsString)> = env::vars_os()
        .filter(|(variable, _)| {
            let name = variable.to_string_lossy();
            name.ends_with("RUSTFLAGS") || name.starts_with("CARGO_PROFILE_")
        })
        .collect();
    flags.sort();
    format!("{flags:?}")
}

/// Cargo may have to download all crates.
const DOWNLOADING: ChildLimits = ChildLimits {
    time: Duration::from_secs(1800),
    bytes: 256 << 20,
};

/// Asks cargo about the package or workspace in `dir`. It resolves the dependencies and downloads the missing ones.
pub(crate) fn metadata(dir: &Path, options: &[&str]) -> Result<Metadata> {
    let mut cargo = MetadataCommand::new()
        .cargo_path(cargo_path())
        .current_dir(dir)
        .other_options(
            options
                .iter()
                .map(|&option| option.to_owned())
                .collect::<Vec<_>>(),
        )
        .cargo_command();
    cargo.env("CARGO_TERM_COLOR", "never");
    let output = DOWNLOADING.output(&mut cargo).context("cargo metadata")?;
    if !output.status.success() {
        bail!("{}", first_error(&String::from_utf8_lossy(&output.stderr)));
    }
    Ok(MetadataCommand::parse(String::from_utf8(output.stdout)?)?)
}
