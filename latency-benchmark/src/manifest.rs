//! Writes, reads and compares manifests.

use std::env;
use std::path::Path;

use anyhow::{Result, anyhow};
use program::{Failure, bad_input};
use run_format::checksums::sha256_of_program;
use run_format::files::{EDITS, SCHEMA, read_versioned, unix_s, write_json, write_whole};
use run_format::{Machine, Manifest, NodeDescription, SweepConfig, Tool};

/// The command line, without the folder of the program.
pub(crate) fn command() -> Vec<String> {
    let words = env::args_os().map(|word| word.to_string_lossy().into_owned());
    let mut words: Vec<String> = words.collect();
    if let Some(program) = words.first_mut()
        && let Some(name) = Path::new(program).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    words
}

/// This program, and the node program that it measures.
pub(crate) fn tool(node: &NodeDescription) -> Tool {
    Tool {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("BENCHMARK_COMMIT").map(str::to_owned),
        profile: node.program.profile.clone(),
        rustc: node.program.rustc.clone(),
        sha256: sha256_of_program(Path::new("/proc/self/exe")).ok(),
        upstream: node.upstream.clone(),
        node: Some(node.program.clone()),
    }
}

/// Writes the manifest of a sweep that begins now as the file `name`, and beside it the lines that were inserted into
/// upstream's crates.
pub(crate) fn begin(
    dir: &Path,
    name: &str,
    config: SweepConfig,
    node: &NodeDescription,
) -> Result<Manifest> {
    let manifest = Manifest {
        schema: SCHEMA,
        command: command(),
        created_unix_s: unix_s(),
        config,
        tool: tool(node),
        machine: Machine::this_host(),
    };
    write_whole(&dir.join(EDITS), &node.edits)?;
    write_json(&dir.join(name), &manifest)?;
    Ok(manifest)
}

pub(crate) fn read(dir: &Path, name: &str) -> Result<Manifest, Failure> {
    read_versioned(&dir.join(name))
        .map_err(|error| bad_input(error.context("--resume: not a sweep that can be continued")))
}

/// Refuses to continue a sweep with other programs, or on another machine.
pub(crate) fn check_same(
    manifest: &Manifest,
    node: &NodeDescription,
    dir: &Path,
) -> Result<(), Failure> {
    let wrong = |text: String| Err(bad_input(anyhow!("--resume {}: {text}", dir.display())));
    let (then, now) = (&manifest.tool, tool(node));
    if *then != now {
        return wrong(format!(
            "another build made that sweep ({} {}, {}); its cells cannot be mixed with those of this one",
            then.version, then.profile, then.rustc
        ));
    }
    let (then, now) = (&manifest.machine, Machine::this_host());
    let fields = [
        ("kernel", &then.kernel, &now.kernel),
        ("CPU", &then.cpu, &now.cpu),
        ("clock source", &then.clock_source, &now.clock_source),
    ];
    if let Some((name, then, now)) = fields.into_iter().find(|(_, then, now)| then != now) {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        return wrong(format!(
            "another machine made that sweep: the {name} was {}, and is {}",
            text(then),
            text(now)
        ));
    }
    Ok(())
}
