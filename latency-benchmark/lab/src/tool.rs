//! Finds the programs that configure the kernel and runs them inside a namespace.

use std::env;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::memfd::{MFdFlags, memfd_create};
use program::{ChildLimits, find_in, in_threads, tool_folders};

use crate::netns::Netns;

/// Environment variable with the folders to search instead of those of the system and of `PATH`. It has the form of `PATH`.
const LAB_TOOLS: &str = "LAB_TOOLS";

/// A busy machine may take seconds to wire a hundred peers.
const LIMITS: ChildLimits = ChildLimits {
    time: Duration::from_secs(60),
    bytes: 16 << 20,
};

/// The arguments of `ip` and `tc` to read commands from standard input.
pub(crate) const BATCH: [&str; 2] = ["-batch", "-"];

#[derive(Clone, Debug)]
pub(crate) struct SystemTool {
    name: &'static str,
    pub(crate) path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "`{name}` was not found in {searched} (install it: `{}`)",
    install(name)
)]
pub(crate) struct MissingTool {
    pub(crate) name: &'static str,
    searched: String,
}

pub(crate) fn install(name: &str) -> &'static str {
    match name {
        "ip" | "tc" => "apt-get install -y iproute2",
        _ => "apt-get install -y iptables",
    }
}

impl SystemTool {
    pub(crate) fn find(name: &'static str) -> Result<SystemTool, MissingTool> {
        let folders = env::var_os(LAB_TOOLS).map_or_else(tool_folders, |instead| {
            let paths = env::split_paths(&instead);
            paths.filter(|folder| folder.is_absolute()).collect()
        });
        let found = find_in(folders.clone(), name);
        found.map(|path| SystemTool { name, path }).ok_or_else(|| {
            let paths = folders.iter().map(|path| path.display().to_string());
            MissingTool {
                name,
                searched: paths.collect::<Vec<_>>().join(":"),
            }
        })
    }

    /// Runs the program inside a namespace until it ends, and returns its output.
    pub(crate) fn run(&self, namespace: &Netns, arguments: &[&str], input: &str) -> Result<String> {
        let name = self.name;
        let mut command = Command::new(&self.path);
        command
            .args(arguments)
            // Its messages are shown to the user, so they should be in English.
            .env("LC_ALL", "C")
            // Only root may open the default file, and no other process shares these tables anyway.
            .env("XTABLES_LOCKFILE", "/dev/null");
        namespace.hold_command(&mut command);
        let mut run = || -> io::Result<Output> {
            let mut file = File::from(memfd_create(c"input", MFdFlags::MFD_CLOEXEC)?);
            file.write_all(input.as_bytes())?;
            file.rewind()?;
            LIMITS.output_with(&mut command, file.into())
        };
        let output = run().with_context(|| format!("`{name}` could not be run"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        match complaint(&String::from_utf8_lossy(&output.stderr)) {
            Some(said) => bail!("`{name}`: {said}"),
            None => bail!("`{name}`: {}", output.status),
        }
    }
}

/// Calls `run` for every item. Returns the outputs in the order of the items.
pub(crate) fn run_all<T: Sync>(
    items: impl Iterator<Item = T>,
    run: impl Fn(&T) -> Result<String> + Sync,
) -> Result<Vec<String>> {
    /// Enough to use all cores, and few enough for the limit of open files.
    const AT_A_TIME: usize = 16;
    let mut outputs = Vec::new();
    for some in Vec::from_iter(items).chunks(AT_A_TIME) {
        outputs.extend(in_threads(some, &run)?);
    }
    Ok(outputs)
}

/// The first line of the errors says most: `ip -batch` adds the number of the line at which it stopped,
/// and `iptables` adds a hint.
fn complaint(errors: &str) -> Option<&str> {
    let mut lines = errors.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty())?;
    let said = first.strip_prefix("Error: ").unwrap_or(first);
    Some(said.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_line_of_a_programs_errors_is_kept() {
        let errors = "\nError: Specified qdisc kind is unknown.\nCommand failed -:1\n";
        assert_eq!(complaint(errors), Some("Specified qdisc kind is unknown"));
        assert_eq!(complaint("\n"), None);
    }

    #[test]
    fn the_error_of_a_missing_program_contains_the_command_that_installs_it() {
        let missing = MissingTool {
            name: "iptables",
            searched: "/nowhere".to_owned(),
        };
        assert_eq!(
            missing.to_string(),
            "`iptables` was not found in /nowhere (install it: `apt-get install -y iptables`)"
        );
    }
}
