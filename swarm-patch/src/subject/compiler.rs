//! Finds cargo and the compiler, and shortens their errors to one line.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use program::{Limits, user_tool};

/// The cargo that runs this program, or the one on the path.
pub(crate) fn cargo_path() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| user_tool("cargo").into())
}

/// Version, commit and host of the compiler that cargo runs in `dir`.
pub(super) fn rustc(dir: &Path) -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| user_tool("rustc").into());
    let output = Command::new(rustc).arg("-vV").current_dir(dir).output();
    let output = output.context("cannot run rustc")?;
    if !output.status.success() {
        bail!("rustc -vV: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The environment variables that change how cargo builds.
pub(super) fn flags() -> String {
    let mut flags: Vec<(OsString, OsString)> = env::vars_os()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            name.ends_with("RUSTFLAGS") || name.starts_with("CARGO_PROFILE_")
        })
        .collect();
    flags.sort();
    format!("{flags:?}")
}

/// The first error in cargo's output, with its place, in one line.
pub(crate) fn first_error(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    let is_error = |line: &&str| line.starts_with("error:") || line.starts_with("error[");
    let Some(at) = lines.iter().position(is_error) else {
        let last = lines.iter().rev().find(|line| !line.is_empty());
        return last.copied().unwrap_or("cargo gave no reason").to_owned();
    };
    let (error, rest) = (lines[at].trim_start_matches("error: "), &lines[at + 1..]);
    let is_of_it = |line: &&&str| !is_error(line) && !line.starts_with("warning");
    let mut of_it = rest.iter().take_while(is_of_it);
    if let Some(place) = of_it.find_map(|line| line.strip_prefix("--> ")) {
        return format!("{error} ({place})");
    }
    // The causes come after an error of cargo, the output after an error of a build script.
    if let Some(text) = rest.iter().find_map(|line| line.strip_prefix("error: ")) {
        return text.to_owned();
    }
    let causes = rest.iter().filter(|line| {
        !line.is_empty() && !line.starts_with("Caused by") && !line.starts_with("process didn't")
    });
    let add = |text, cause| format!("{text} {cause}");
    causes.take(4).fold(error.to_owned(), add)
}

/// Cargo may have to download all crates.
const DOWNLOADING: Limits = Limits {
    time: Duration::from_secs(1800),
    bytes: 256 << 20,
};

/// Asks cargo about the package or workspace in `dir`. It resolves the dependencies and downloads the missing ones.
pub(crate) fn metadata(dir: &Path, options: &[&str]) -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    let command = command.cargo_path(cargo_path()).current_dir(dir);
    let mut cargo = command.other_options(options).cargo_command();
    cargo.env("CARGO_TERM_COLOR", "never");
    let output = DOWNLOADING.output(&mut cargo).context("cargo metadata")?;
    if !output.status.success() {
        bail!("{}", first_error(&String::from_utf8_lossy(&output.stderr)));
    }
    Ok(MetadataCommand::parse(String::from_utf8(output.stdout)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_compiler_comes_with_its_place() {
        let said = "warning: unused\n --> src/a.rs:1:1\n\nerror[E0308]: mismatched types\n  --> swarm/src/lib.rs:4:9\n   |\nerror: could not compile `x` (lib) due to 1 previous error\n";
        assert_eq!(
            first_error(said),
            "error[E0308]: mismatched types (swarm/src/lib.rs:4:9)"
        );
    }

    #[test]
    fn an_error_of_cargo_comes_with_its_causes() {
        let said = "    Updating index\nerror: failed to select a version for `x`.\n    required by package `y`\n";
        assert_eq!(
            first_error(said),
            "failed to select a version for `x`. required by package `y`"
        );
        assert_eq!(first_error(""), "cargo gave no reason");
    }
}
