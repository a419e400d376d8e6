//! The build scripts of node programs. They note, for `node_kit::description!`, the compiler and its flags, the pristine
//! crates, and the code inserted into them.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use fs_err as fs;
use serde_json::json;

use crate::diff::{DiffRoot, crate_diff};
use crate::graft::graft;
use crate::package::upstream_manifest;
use crate::pristine;
use crate::stacks::Stack;

/// Writes `edits.diff` and `node.json` to `OUT_DIR`. `features` are those of the package that matter to a run.
pub fn note(stack: &Stack, features: &[&str]) -> Result<()> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let manifest = upstream_manifest();
    println!(
        "cargo::rerun-if-changed={}",
        manifest.with_file_name("Cargo.lock").display()
    );
    let (mut diff, mut upstream) = (String::new(), Vec::new());
    for source in &pristine::find(&manifest, stack.packages)? {
        diff += &crate_diff(&DiffRoot::Registry.prefix(source), &graft(source)?.files);
        upstream.push(json!({
            "name": source.name,
            "version": source.version,
            "sha256": source.checksum,
        }));
    }
    fs::write(out.join("edits.diff"), diff)?;

    let is_on = |name: &&&str| {
        let variable = name.to_uppercase().replace('-', "_");
        env::var_os(format!("CARGO_FEATURE_{variable}")).is_some()
    };
    let features: Vec<&&str> = features.iter().filter(is_on).collect();
    let sites = stack.sites.iter().map(|spec| {
        json!({
            "site": spec.name,
            "function": spec.called,
            "symbol": spec.symbol(),
        })
    });
    let rustc = Command::new(env::var("RUSTC")?).arg("--version").output()?;
    let variable = |name| env::var(name).unwrap_or_default();
    let node = json!({
        "program": {
            "stack": stack.name,
            "sites": sites.collect::<Vec<_>>(),
            "profile": variable("PROFILE"),
            "opt_level": variable("OPT_LEVEL"),
            "debug_assertions": false,
            "rustflags": variable("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " "),
            "target_features": variable("CARGO_CFG_TARGET_FEATURE"),
            "features": features,
            "rustc": String::from_utf8(rustc.stdout)?.trim(),
        },
        "upstream": upstream,
        "edits": "",
    });
    Ok(fs::write(out.join("node.json"), node.to_string())?)
}
