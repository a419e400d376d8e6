//! Copies packages of this workspace for an application. The copies are not in a workspace of ours, so their manifests
//! inherit nothing.

use std::path::{Path, PathBuf};

use anyhow::Result;
use cargo_metadata::{Dependency, DependencyKind, Package};
use fs_err as fs;
use toml_edit::{DocumentMut, InlineTable, Item, value};

use crate::subject::ours::{self, Ours};

/// The package that an application depends on to compare budgets.
pub(super) const NODE_AB: &str = "node-ab";

/// The packages that an application gets. The packages of this workspace that these depend on are copied, too.
pub(super) const COPIED: [&str; 2] = ["poll-probe", NODE_AB];

/// The crate that only the command lines of this workspace need. The copies do not depend on it.
const COMMAND_LINE_CRATE: &str = "clap";

/// Copies packages and what they depend on, each to a folder of its name in `to`.
pub(super) fn copy_packages(names: &[&str], to: &Path) -> Result<()> {
    for package in Ours::read()?.with_dependencies(names)? {
        let (from, to) = (ours::folder(package), to.join(package.name.as_str()));
        ours::copy_files(from, &ours::files(from, &["build.rs", "src"])?, &to)?;
        fs::write(to.join("Cargo.toml"), manifest(package))?;
    }
    Ok(())
}

/// The manifest of a copy, without the dependencies of tests. It names no version of the compiler, because an older one may
/// do, and cargo would not even try it.
fn manifest(package: &Package) -> String {
    let links = match &package.links {
        Some(name) => format!("links = {name:?}\n"),
        None => String::new(),
    };
    let mut text = format!(
        "[package]\nname = {:?}\nversion = \"{}\"\nedition = \"{}\"\nlicense = {:?}\npublish = false\n{links}",
        package.name.as_str(),
        package.version,
        package.edition,
        package.license.as_deref().unwrap_or_default(),
    );
    text += "\n[features]\n";
    let left_out = format!("dep:{COMMAND_LINE_CRATE}");
    for (name, needed) in &package.features {
        let kept: Vec<_> = needed.iter().filter(|needs| **needs != left_out).collect();
        text += &format!("{name} = {kept:?}\n");
    }
    let dependencies = package
        .dependencies
        .iter()
        .filter(|dependency| dependency.name != COMMAND_LINE_CRATE);
    text.extend(dependencies.map(table));
    text
}

/// The table of a dependency. The path of a package of ours leads to the copy beside.
fn table(dependency: &Dependency) -> String {
    let kind = match dependency.kind {
        DependencyKind::Development => return String::new(),
        DependencyKind::Build => "build-dependencies",
        _ => "dependencies",
    };
    let target = match &dependency.target {
        Some(target) => format!("target.{:?}.", target.to_string()),
        None => String::new(),
    };
    let (key, package) = match &dependency.rename {
        Some(key) => (key, format!("package = {:?}\n", dependency.name)),
        None => (&dependency.name, String::new()),
    };
    let source = match dependency.path {
        Some(_) => format!("path = \"../{}\"", dependency.name),
        None => format!("version = \"{}\"", dependency.req),
    };
    format!(
        "\n[{target}{kind}.{key}]\n{package}{source}\ndefault-features = {}\nfeatures = {:?}\noptional = {}\n",
        dependency.uses_default_features, dependency.features, dependency.optional,
    )
}

/// The manifests of the copies in a folder, with their texts.
pub(super) fn manifests(folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    Ours::read()?
        .with_dependencies(&COPIED)?
        .iter()
        .map(|package| folder.join(package.name.as_str()).join("Cargo.toml"))
        .map(|path| Ok((path.clone(), fs::read_to_string(path)?)))
        .collect()
}

/// Makes the copies in a folder accept no version of a package that is newer than `version`.
pub(super) fn limit(folder: &Path, name: &str, version: &str) -> Result<()> {
    for (path, text) in manifests(folder)? {
        let mut manifest: DocumentMut = text.parse()?;
        let required = manifest
            .get_mut("dependencies")
            .and_then(Item::as_table_like_mut)
            .and_then(|dependencies| dependencies.get_mut(name))
            .and_then(Item::as_table_like_mut)
            .and_then(|dependency| dependency.get_mut("version"));
        if let Some(required) = required
            && let Some(text) = required.as_str()
        {
            *required = value(format!("{text}, <={version}"));
        }
        if path.ends_with(Path::new(NODE_AB).join("Cargo.toml")) {
            // This also limits the package where only a dependency of the copies needs it. Cargo resolves this dependency and
            // never compiles it.
            let mut entry = InlineTable::new();
            entry.insert("package", name.into());
            entry.insert("version", compatible(version).into());
            entry.insert("default-features", false.into());
            let key = format!("held-{name}-{}", version.replace(['.', '+'], "_"));
            manifest["target"]["cfg(any())"]["dependencies"][&key] = value(entry);
        }
        fs::write(path, manifest.to_string())?;
    }
    Ok(())
}

/// The versions that are compatible with `version`, by the rules of cargo, and not newer.
fn compatible(version: &str) -> String {
    let parts: Vec<&str> = version.split('.').collect();
    let first_number = parts.iter().position(|part| *part != "0");
    let oldest = parts[..=first_number.unwrap_or_default()].join(".");
    format!(">={oldest}, <={version}")
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::subject::compiler;

    fn packages(dir: &Path) -> Vec<Package> {
        let metadata = compiler::metadata(dir, &["--no-deps"]);
        metadata.expect("a manifest that stands alone").packages
    }

    /// Everything that must be the same in a copy: the edition, the features and the dependencies with all their settings.
    /// The paths of dependencies differ, so only their presence counts.
    fn requirements(package: &Package) -> impl PartialEq + Debug {
        let mut dependencies = package.dependencies.clone();
        dependencies.retain(|dependency| {
            dependency.kind != DependencyKind::Development && dependency.name != COMMAND_LINE_CRATE
        });
        for dependency in &mut dependencies {
            dependency.path = dependency.path.as_ref().map(|_| "beside".into());
        }
        dependencies.sort_by_key(|dependency| dependency.name.clone());
        let mut features = package.features.clone();
        let left_out = format!("dep:{COMMAND_LINE_CRATE}");
        for needed in features.values_mut() {
            needed.retain(|needs| *needs != left_out);
        }
        (package.edition, features, dependencies)
    }

    #[test]
    fn copies_stand_alone_and_ask_for_the_same() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        copy_packages(&COPIED, dir.path()).expect("it is a package of ours");
        let ours = packages(&ours::root().expect("it is there"));
        let mut copied = Vec::new();
        for entry in fs::read_dir(dir.path()).expect("it is there") {
            let folder = entry.expect("it can be read").path();
            let [copy] = &packages(&folder)[..] else {
                panic!("{}: not alone", folder.display());
            };
            let same = ours.iter().find(|package| package.name == copy.name);
            let original = same.expect("it was copied from there");
            assert_eq!(requirements(copy), requirements(original), "{}", copy.name);
            let paths = copy
                .dependencies
                .iter()
                .filter_map(|dependency| dependency.path.as_ref());
            for path in paths {
                assert!(path.starts_with(dir.path()) && path.is_dir(), "{path}");
            }
            copied.push(copy.name.to_string());
        }
        copied.sort();
        assert_eq!(copied, ["node-ab", "poll-probe", "program", "run-format"]);
    }
}
