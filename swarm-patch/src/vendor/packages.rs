//! Copies packages of this workspace to where an application finds them. There they are in no workspace of ours, so
//! their manifests inherit nothing.

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

/// The crate that only the command lines of this workspace need. Copies leave it out.
const OF_COMMAND_LINES: &str = "clap";

/// Copies packages and what they depend on, each to a folder of its name in `to`.
pub(super) fn copy(names: &[&str], to: &Path) -> Result<()> {
    for package in Ours::read()?.with_dependencies(names)? {
        let (from, to) = (ours::folder(package), to.join(package.name.as_str()));
        ours::copy(from, &ours::files(from, &["build.rs", "src"])?, &to)?;
        fs::write(to.join("Cargo.toml"), manifest(package))?;
    }
    Ok(())
}

/// The manifest of a copy, without what only tests need. It says nothing of the compiler's version: an older one may do,
/// which cargo would not even try.
fn manifest(package: &Package) -> String {
    let links = package.links.iter();
    let links: String = links.map(|name| format!("links = {name:?}\n")).collect();
    let mut text = format!(
        "[package]\nname = {:?}\nversion = \"{}\"\nedition = \"{}\"\nlicense = {:?}\npublish = false\n{links}",
        package.name.as_str(),
        package.version,
        package.edition,
        package.license.as_deref().unwrap_or_default(),
    );
    text += "\n[features]\n";
    for (name, of) in &package.features {
        let left_out = format!("dep:{OF_COMMAND_LINES}");
        let of: Vec<_> = of.iter().filter(|needs| **needs != left_out).collect();
        text += &format!("{name} = {of:?}\n");
    }
    let dependencies = package
        .dependencies
        .iter()
        .filter(|dependency| dependency.name != OF_COMMAND_LINES);
    text.extend(dependencies.map(table));
    text
}

/// The table of a dependency. One on a package of ours leads to the folder beside.
fn table(of: &Dependency) -> String {
    let kind = match of.kind {
        DependencyKind::Development => return String::new(),
        DependencyKind::Build => "build-dependencies",
        _ => "dependencies",
    };
    let target = of.target.iter();
    let target = target.map(|target| format!("target.{:?}.", target.to_string()));
    let renamed = of.rename.iter();
    let renamed = renamed.map(|_| format!("package = {:?}\n", of.name));
    let source = match of.path {
        Some(_) => format!("path = \"../{}\"", of.name),
        None => format!("version = \"{}\"", of.req),
    };
    format!(
        "\n[{}{kind}.{}]\n{}{source}\ndefault-features = {}\nfeatures = {:?}\noptional = {}\n",
        target.collect::<String>(),
        of.rename.as_ref().unwrap_or(&of.name),
        renamed.collect::<String>(),
        of.uses_default_features,
        of.features,
        of.optional,
    )
}

/// The manifests of the copies in a folder, with their texts.
pub(super) fn manifests(folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    let packages = Ours::read()?;
    let packages = packages.with_dependencies(&COPIED)?;
    let paths = packages
        .iter()
        .map(|package| folder.join(package.name.as_str()).join("Cargo.toml"));
    paths
        .map(|path| Ok((path.clone(), fs::read_to_string(path)?)))
        .collect()
}

/// Has the copies in a folder accept no newer version of a package.
pub(super) fn limit(folder: &Path, name: &str, version: &str) -> Result<()> {
    for (path, text) in manifests(folder)? {
        let mut manifest: DocumentMut = text.parse()?;
        let table = manifest
            .get_mut("dependencies")
            .and_then(Item::as_table_like_mut);
        let dependency = table.and_then(|table| table.get_mut(name));
        let dependency = dependency.and_then(Item::as_table_like_mut);
        let required = dependency.and_then(|table| table.get_mut("version"));
        if let Some(required) = required
            && let Some(text) = required.as_str()
        {
            *required = value(format!("{text}, <={version}"));
        }
        if path.ends_with(Path::new(NODE_AB).join("Cargo.toml")) {
            // It is for what the packages need that the copies depend on. Cargo resolves it and never compiles it.
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

/// Versions that cargo takes for compatible with one, and that are not newer.
fn compatible(version: &str) -> String {
    let parts: Vec<&str> = version.split('.').collect();
    let at = parts
        .iter()
        .position(|part| *part != "0")
        .unwrap_or_default();
    format!(">={}, <={version}", parts[..=at].join("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::compiler;

    fn packages(dir: &Path) -> Vec<Package> {
        let metadata = compiler::metadata(dir, &["--no-deps"]);
        metadata.expect("a manifest that stands alone").packages
    }

    /// The text of all that must be the same in a copy. Of a path only its presence is.
    fn said(package: &Package) -> Vec<String> {
        let kept = |of: &&Dependency| {
            of.kind != DependencyKind::Development && of.name != OF_COMMAND_LINES
        };
        let of = |it: &Dependency| {
            let folder = it.path.as_ref().map(|_| "beside");
            let (name, rename, kind) = (&it.name, &it.rename, it.kind);
            let (req, features, defaults) = (&it.req, &it.features, it.uses_default_features);
            let (optional, target) = (it.optional, it.target.as_ref().map(ToString::to_string));
            format!(
                "{name} {rename:?} {kind} {req} {features:?} {defaults} {optional} {target:?} {folder:?}"
            )
        };
        let mut said: Vec<_> = package.dependencies.iter().filter(kept).map(of).collect();
        said.sort();
        let mut features = package.features.clone();
        let left_out = format!("dep:{OF_COMMAND_LINES}");
        let needed = features.values_mut();
        needed.for_each(|needs| needs.retain(|need| *need != left_out));
        said.push(format!("{} {features:?}", package.edition));
        said
    }

    #[test]
    fn copies_stand_alone_and_ask_for_the_same() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        copy(&COPIED, dir.path()).expect("it is a package of ours");
        let ours = packages(&ours::root().expect("it is there"));
        let mut copied = Vec::new();
        for entry in fs::read_dir(dir.path()).expect("it is there") {
            let folder = entry.expect("it can be read").path();
            let [copy] = &packages(&folder)[..] else {
                panic!("{}: not alone", folder.display());
            };
            let original = ours.iter().find(|package| package.name == copy.name);
            let original = original.expect("it was copied from there");
            assert_eq!(said(copy), said(original), "{}", copy.name);
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
