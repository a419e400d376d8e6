//! The build scripts of node programs. They note, for `node_kit::description!`, the compiler and its flags, the pristine
//! crates, and the code inserted into them.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use fs_err as fs;

use crate::diff::{Layout, below};
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
        diff += &below(&Layout::Registry.prefix(source), &graft(source)?.files);
        let checksum = source.checksum.as_deref().unwrap_or_default();
        upstream.push(format!(
            r#"{{"name":{:?},"version":{:?},"sha256":{checksum:?}}}"#,
            source.name, source.version
        ));
    }
    fs::write(out.join("edits.diff"), diff)?;

    let is_on = |name: &&&str| {
        let variable = name.to_uppercase().replace('-', "_");
        env::var_os(format!("CARGO_FEATURE_{variable}")).is_some()
    };
    let features: Vec<&&str> = features.iter().filter(is_on).collect();
    let sites = stack
        .sites
        .iter()
        .filter(|spec| stack.packages.contains(&spec.package))
        .map(|spec| {
            let (site, function, symbol) = (spec.name, spec.called, spec.symbol());
            format!(r#"{{"site":{site:?},"function":{function:?},"symbol":{symbol:?}}}"#)
        });
    let rustc = Command::new(env::var("RUSTC")?).arg("--version").output()?;
    let variable = |name| env::var(name).unwrap_or_default();
    let node = format!(
        r#"{{"program":{{"stack":{:?},"sites":[{}],"profile":{:?},"opt_level":{:?},"debug_assertions":false,"rustflags":{:?},"target_features":{:?},"features":{features:?},"rustc":{:?}}},"upstream":[{}],"edits":""}}"#,
        stack.name,
        sites.collect::<Vec<_>>().join(","),
        variable("PROFILE"),
        variable("OPT_LEVEL"),
        variable("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " "),
        variable("CARGO_CFG_TARGET_FEATURE"),
        String::from_utf8(rustc.stdout)?.trim(),
        upstream.join(","),
    );
    Ok(fs::write(out.join("node.json"), node)?)
}
