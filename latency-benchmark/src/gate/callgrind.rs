//! Instructions by function, as callgrind counts them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use program::{ChildLimits, require_system_tool, system_tool_or_usr_bin};

/// Instructions in user mode.
pub(super) struct Profile {
    pub(super) by_function: BTreeMap<String, u64>,
    /// The number of requests in which they were counted.
    pub(super) requests: u64,
}

impl Profile {
    pub(super) fn per_request(&self, function: &str) -> f64 {
        let instructions = self.by_function.get(function).copied();
        instructions.unwrap_or(0) as f64 / self.requests as f64
    }
}

/// The words that start valgrind. Where this machine allows it, `setarch` gives the program the same addresses each time.
pub(super) struct Callgrind(Vec<PathBuf>);

impl Callgrind {
    pub(super) fn find() -> Result<Callgrind> {
        let setarch = system_tool_or_usr_bin("setarch");
        let tried = ChildLimits::SHORT_ANSWER.output(Command::new(&setarch).args(["-R", "true"]));
        let mut words = match tried.is_ok_and(|tried| tried.status.success()) {
            true => vec![setarch, "-R".into()],
            false => Vec::new(),
        };
        words.push(require_system_tool("valgrind")?);
        Ok(Callgrind(words))
    }

    /// Runs a program that counts for `--gate`. Its profile is written to a file.
    pub(super) fn command(&self, program: &Path, profile: &Path) -> Command {
        let mut command = Command::new(&self.0[0]);
        command
            .args(&self.0[1..])
            .args(["--tool=callgrind", "--quiet", "--dump-line=no"])
            .args(["--compress-strings=no", "--compress-pos=no"])
            .arg("--toggle-collect=*poll_of_central*")
            .arg(format!("--callgrind-out-file={}", profile.display()))
            .arg(program);
        command
    }
}

pub(super) fn read(path: &Path) -> Result<BTreeMap<String, u64>> {
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(parse(&text))
}

/// The own instructions of each function. A line after `calls=` has those of the function that is called.
fn parse(text: &str) -> BTreeMap<String, u64> {
    let mut instructions = BTreeMap::new();
    let (mut function, mut is_called) = (String::new(), false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            function = without_hash(name).to_owned();
        } else if line.starts_with("calls=") {
            is_called = true;
        } else if let Some((position, cost)) = line.split_once(' ')
            && position.parse::<u64>().is_ok()
            && let Ok(cost) = cost.trim().parse::<u64>()
            && !std::mem::take(&mut is_called)
        {
            *instructions.entry(function.clone()).or_default() += cost;
        }
    }
    instructions
}

/// The name of a function without its hash, which differs between builds.
fn without_hash(name: &str) -> &str {
    let Some((rest, hash)) = name.rsplit_once("::h") else {
        return name;
    };
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { rest } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_its_own_instructions_and_no_hash() {
        let text = "version: 1\nevents: Ir\n\nob=/bin/x\nfl=a.rs\nfn=a::poll::h0123456789abcdef\n0 10\ncob=/bin/y\ncfn=b\ncalls=3 0\n0 700\n0 5\n\nfn=b\n0 700\ntotals: 715\n";
        let expected = [("a::poll".to_owned(), 15), ("b".to_owned(), 700)];
        assert_eq!(parse(text), BTreeMap::from(expected));
    }
}
