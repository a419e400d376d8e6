//! Has cargo find the pristine sources.

use std::env;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;
use fs_err as fs;
use toml::{Table, Value};

use crate::crate_dir::CrateDir;

/// Finds every version of the `packages` that the manifest at `manifest` depends on. Each comes with its checksum in the lock
/// file beside the manifest. Cargo checks the sources when it downloads them. It does not notice later changes in its own
/// folders.
pub fn find(manifest: &Path, packages: &[&str]) -> Result<Vec<CrateDir>> {
    let lock_path = manifest.with_file_name("Cargo.lock");
    let lock: Table = fs::read_to_string(&lock_path)?
        .parse()
        .with_context(|| format!("cannot parse {}", lock_path.display()))?;
    let mut command = MetadataCommand::new();
    command.manifest_path(manifest);
    let mut options = vec!["--locked".to_owned()];
    if let Ok(target) = env::var("TARGET") {
        // This is a build script, so nothing is downloaded for other platforms.
        options.extend(["--filter-platform".to_owned(), target]);
    }
    command.other_options(options);
    // These are set for the outer build if this is a build script.
    const OUTER: &str =
        "CARGO_ENCODED_RUSTFLAGS RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC";
    for variable in OUTER.split(' ') {
        command.env_remove(variable);
    }
    let shown = manifest.display();
    let metadata = command
        .exec()
        .with_context(|| format!("cargo cannot find the crates that {shown} names"))?;
    let mut sources = Vec::new();
    for name in packages {
        let named = |package: &&cargo_metadata::Package| package.name.as_str() == *name;
        let mut found = metadata.packages.iter().filter(named).peekable();
        if found.peek().is_none() {
            bail!("{shown} names no package {name}");
        }
        for package in found {
            let source = CrateDir::from_package(package)?;
            let checksum = locked_checksum(&lock, name, &source.version)
                .with_context(|| format!("in {}", lock_path.display()))?;
            sources.push(CrateDir {
                checksum: Some(checksum),
                ..source
            });
        }
    }
    Ok(sources)
}

fn locked_checksum(lock: &Table, name: &str, version: &str) -> Result<String> {
    let packages = lock.get("package").and_then(Value::as_array);
    let text = |package: &Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let package = packages
        .into_iter()
        .flatten()
        .find(|package| {
            text(package, "name").as_deref() == Some(name)
                && text(package, "version").as_deref() == Some(version)
        })
        .with_context(|| format!("no package {name} {version}"))?;
    text(package, "checksum").with_context(|| {
        format!("{name} {version} has no checksum, so it does not come from a registry")
    })
}
