//! Notes the commit that the tool was built from.

use std::process::Command;

fn main() {
    for watched in
        "build.rs src lab node node-ab node-kit program run-format ../swarm-patch ../Cargo.lock"
            .split(' ')
    {
        println!("cargo::rerun-if-changed={watched}");
    }
    if let Some(log) = git("rev-parse --git-path logs/HEAD") {
        println!("cargo::rerun-if-changed={log}");
    }
    if let Some(commit) = git("describe --always --dirty --abbrev=40 --exclude=*") {
        println!("cargo::rustc-env=BENCHMARK_COMMIT={commit}");
    }
}

/// Returns what git prints. Returns None in an archive without git.
fn git(words: &str) -> Option<String> {
    let output = Command::new("git").args(words.split(' ')).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
