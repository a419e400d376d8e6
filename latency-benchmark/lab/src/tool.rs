//! The programs that configure the kernel, which this crate finds and runs inside a namespace.

use std::{
    env,
    ffi::OsString,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Reaped, netns::Netns};

/// Directories to look into, in the form of `PATH`, instead of `PATH`, `/usr/sbin` and `/sbin`.
const LAB_TOOLS: &str = "LAB_TOOLS";

/// Where administration tools are. An ordinary user's `PATH` often lacks these.
const ADMINISTRATION: [&str; 2] = ["/usr/sbin", "/sbin"];

/// A program that was found.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    name: &'static str,
    path: PathBuf,
}

/// Why a program could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It is not there.
    #[error(
        "`{name}` was not found in {searched} (install it: `{}`)",
        install(name)
    )]
    Missing {
        /// The program.
        name: &'static str,
        /// The directories looked into.
        searched: String,
    },
    /// It could not be started or fed.
    #[error("`{name}` could not be run")]
    Run {
        /// The program.
        name: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// It said no.
    #[error("`{name}`: {said}")]
    Failed {
        /// The program.
        name: &'static str,
        /// The first line of its errors, or its exit status.
        said: String,
    },
}

/// The Debian command that brings a program.
pub(crate) fn install(name: &str) -> &'static str {
    match name {
        "ip" | "tc" => "apt-get install -y iproute2",
        _ => "apt-get install -y iptables",
    }
}

impl Tool {
    pub(crate) fn find(name: &'static str) -> Result<Tool, ToolError> {
        let directories = directories();
        let paths = directories.iter().map(|directory| directory.join(name));
        match paths.into_iter().find(|path| is_executable(path)) {
            Some(path) => Ok(Tool { name, path }),
            None => Err(ToolError::Missing {
                name,
                searched: join(&directories),
            }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Starts the program inside `namespace` and hands it its input.
    pub(crate) fn start(
        &self,
        namespace: &Netns,
        arguments: &[&str],
        input: &str,
    ) -> Result<Running, ToolError> {
        let mut command = Command::new(&self.path);
        command
            .args(arguments)
            // Its messages are shown, so their language should be ours.
            .env("LC_ALL", "C")
            // The default is only root's to open, and nothing is shared with the outside anyway.
            .env("XTABLES_LOCKFILE", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        namespace.hold_command(&mut command);
        self.fed(command, input).map_err(|source| ToolError::Run {
            name: self.name,
            source,
        })
    }

    fn fed(&self, mut command: Command, input: &str) -> io::Result<Running> {
        let mut child = Reaped::new(command.spawn()?);
        let mut stdin = child.stdin.take().expect("stdin is piped");
        match stdin.write_all(input.as_bytes()) {
            // It stopped reading, and its exit status says why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            written => written?,
        }
        Ok(Running {
            name: self.name,
            child,
        })
    }

    /// As [`start`](Tool::start), to the end.
    pub(crate) fn run(
        &self,
        namespace: &Netns,
        arguments: &[&str],
        input: &str,
    ) -> Result<String, ToolError> {
        self.start(namespace, arguments, input)?.finish()
    }
}

/// A program at work.
pub(crate) struct Running {
    name: &'static str,
    child: Reaped,
}

impl Running {
    /// Waits for its end and returns what it printed.
    pub(crate) fn finish(mut self) -> Result<String, ToolError> {
        let name = self.name;
        let run = |source| ToolError::Run { name, source };
        // Neither pipe is filled by more than a few lines of errors, so one after the other will do.
        let (mut output, mut errors) = (String::new(), String::new());
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut output).map_err(run)?;
        }
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut errors).map_err(run)?;
        }
        let status = self.child.wait().map_err(run)?;
        if status.success() {
            return Ok(output);
        }
        let said = complaint(&errors).map_or_else(|| status.to_string(), str::to_owned);
        Err(ToolError::Failed { name, said })
    }
}

/// The line that tells most. `ip -batch` follows it by the number of the line it stopped at, and
/// `iptables` by a hint.
fn complaint(errors: &str) -> Option<&str> {
    let mut lines = errors.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty())?;
    Some(
        line.strip_prefix("Error: ")
            .unwrap_or(line)
            .trim_end_matches('.'),
    )
}

fn directories() -> Vec<PathBuf> {
    if let Some(instead) = env::var_os(LAB_TOOLS) {
        return env::split_paths(&instead).collect();
    }
    let path: OsString = env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = env::split_paths(&path).collect();
    for directory in ADMINISTRATION.map(PathBuf::from) {
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    directories
}

fn join(directories: &[PathBuf]) -> String {
    let shown = directories.iter().map(|path| path.display().to_string());
    shown.collect::<Vec<_>>().join(":")
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_programs_errors_the_first_line_is_kept() {
        let errors = "\nError: Specified qdisc kind is unknown.\nCommand failed -:1\n";
        assert_eq!(complaint(errors), Some("Specified qdisc kind is unknown"));
        assert_eq!(complaint("\n"), None);
    }

    #[test]
    fn a_missing_program_is_named_with_the_command_that_brings_it() {
        let missing = ToolError::Missing {
            name: "iptables",
            searched: "/nowhere".to_owned(),
        };
        assert_eq!(
            missing.to_string(),
            "`iptables` was not found in /nowhere (install it: `apt-get install -y iptables`)"
        );
    }
}
