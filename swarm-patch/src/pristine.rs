//! Has cargo find the pristine sources.

use std::{env, fs, path::Path};

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;

use crate::crate_source::CrateSource;

/// The sources of those names that the manifest at `manifest` names, in every version, downloaded if
/// need be, with the checksum that the lock file beside it demands of them. Cargo verifies it when
/// it downloads; what somebody edited in cargo's folders afterwards, it does not notice.
pub fn find(manifest: &Path, packages: &[&str]) -> Result<Vec<CrateSource>> {
    let lock_path = manifest.with_file_name("Cargo.lock");
    let lock = fs::read_to_string(&lock_path)
        .with_context(|| format!("cannot read {}", lock_path.display()))?;
    let lock: toml::Table = lock
        .parse()
        .with_context(|| format!("cannot parse {}", lock_path.display()))?;
    let mut command = MetadataCommand::new();
    command.manifest_path(manifest);
    let mut options = vec!["--locked".to_owned()];
    if let Ok(target) = env::var("TARGET") {
        // Inside a build script: what other platforms need is not downloaded.
        options.extend(["--filter-platform".to_owned(), target]);
    }
    command.other_options(options);
    // A build script's own cargo settings are about the outer build.
    for variable in [
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTDOC",
    ] {
        command.env_remove(variable);
    }
    let metadata = command.exec().with_context(|| {
        format!(
            "cargo cannot find the crates that {} names",
            manifest.display()
        )
    })?;
    let mut sources = Vec::new();
    for name in packages {
        let found = metadata
            .packages
            .iter()
            .filter(|package| package.name.as_str() == *name);
        let before = sources.len();
        for package in found {
            let version = package.version.to_string();
            let checksum = checksum(&lock, name, &version)
                .with_context(|| format!("in {}", lock_path.display()))?;
            let dir = package
                .manifest_path
                .parent()
                .map(Into::into)
                .unwrap_or_default();
            sources.push(CrateSource::new(name, &version, dir, Some(checksum))?);
        }
        if sources.len() == before {
            bail!("{} names no package {name}", manifest.display());
        }
    }
    Ok(sources)
}

fn checksum(lock: &toml::Table, name: &str, version: &str) -> Result<String> {
    let is = |package: &&toml::Value, key: &str, value: &str| {
        package.get(key).and_then(toml::Value::as_str) == Some(value)
    };
    let packages = lock
        .get("package")
        .and_then(toml::Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let Some(package) = packages
        .iter()
        .find(|package| is(package, "name", name) && is(package, "version", version))
    else {
        bail!("no package {name} {version}");
    };
    match package.get("checksum").and_then(toml::Value::as_str) {
        Some(checksum) => Ok(checksum.to_owned()),
        None => bail!("{name} {version} has no checksum, so it does not come from a registry"),
    }
}
