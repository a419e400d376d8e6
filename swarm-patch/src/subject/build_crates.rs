//! Says which crates of a build do not come from the registry unchanged.

use std::path::Path;

use anyhow::{Result, bail};
use cargo_metadata::Metadata;
use run_format::{CrateOrigin, CrateRecord};

use super::builder::{LAYERS, SubjectBuilder};
use super::crates::{Subject, UPSTREAM};

pub(super) fn records(
    metadata: &Metadata,
    builder: &SubjectBuilder,
    subject: &Subject,
) -> Result<Vec<CrateRecord>> {
    let (build, stack) = (builder.build_dir(), builder.stack);
    let mut records = Vec::new();
    for package in &metadata.packages {
        let path: &Path = package.manifest_path.as_ref();
        let from = match path.strip_prefix(&build) {
            Ok(below) if below.starts_with(UPSTREAM) => CrateOrigin::Subject,
            Ok(below) if below.starts_with(LAYERS) => CrateOrigin::Layer,
            Ok(below) if below.starts_with("crates") => CrateOrigin::Registry,
            _ => continue,
        };
        records.push(CrateRecord {
            grafted: !subject.is_plain && stack.packages.contains(&package.name.as_str()),
            name: package.name.to_string(),
            version: package.version.to_string(),
            from,
        });
    }
    records.sort_by(|one, other| one.name.cmp(&other.name));
    let layers = subject.layers.iter().map(|layer| layer.name.as_str());
    for expected in stack.packages.iter().copied().chain(layers) {
        if !records.iter().any(|record| record.name == expected) {
            bail!("nothing in the build accepts this version of {expected}");
        }
    }
    Ok(records)
}
