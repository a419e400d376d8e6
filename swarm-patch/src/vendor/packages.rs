//! Copies packages of this workspace to where an application finds them. There they are in no workspace of ours, so
//! their manifests say themselves what they inherit here.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use fs_err as fs;
use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike, Value, value};

use crate::checkout::{Edit, read_toml, write};
use crate::subject::ours;
use crate::sync;

/// What an application gets. The packages of this workspace that these depend on are copied, too.
pub const COPIED: [&str; 2] = ["poll-probe", "node-ab"];

/// Copies packages and what they depend on, each to a folder of its name in `to`.
pub(super) fn copy(names: &[&str], to: &Path) -> Result<()> {
    let root = ours::root()?;
    let workspace = read_toml(&root.join("Cargo.toml"))?;
    let workspace = workspace.get("workspace").context("it is a workspace")?;
    let mut wanted: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut copied = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !copied.insert(name.clone()) {
            continue;
        }
        let path = inherited(workspace, "dependencies", &name)?.get("path");
        let path = path.and_then(Item::as_str);
        let from = root.join(path.with_context(|| format!("{name} is not of this workspace"))?);
        let to = to.join(name);
        fs::create_dir(&to)?;
        for part in ours::PARTS {
            match from.join(part) {
                folder if folder.is_dir() => sync::folder(&folder, &to.join(part))?,
                file if file.exists() => drop(fs::copy(file, to.join(part))?),
                _ => {}
            }
        }
        let manifest = Edit::of_toml(to.join("Cargo.toml"), |manifest| {
            ours::remove_what_is_not_copied(manifest);
            wanted.extend(stand_alone(manifest, workspace)?);
            Ok(())
        })?;
        write(&[manifest])?;
    }
    Ok(())
}

fn inherited<'a>(workspace: &'a Item, table: &str, key: &str) -> Result<&'a Item> {
    let found = workspace.get(table).and_then(|table| table.get(key));
    found.with_context(|| format!("the workspace has no {table}.{key}"))
}

fn inherits(item: &Item) -> bool {
    item.get("workspace").and_then(Item::as_bool) == Some(true)
}

/// Replaces in a manifest what it inherits. Returns the packages of this workspace that it depends on; their paths lead to
/// the folder beside it.
fn stand_alone(manifest: &mut DocumentMut, workspace: &Item) -> Result<Vec<String>> {
    if let Some(package) = manifest
        .get_mut("package")
        .and_then(Item::as_table_like_mut)
    {
        // An older compiler may do. With this key cargo would not even try it.
        package.remove("rust-version");
    }
    for (key, item) in entries(manifest.get_mut("package")) {
        if inherits(item) {
            *item = inherited(workspace, "package", &key)?.clone();
        }
    }
    if manifest.get("lints").is_some_and(inherits) {
        manifest["lints"] = workspace.get("lints").cloned().unwrap_or_default();
    }
    let mut needed = of_dependencies(manifest.as_table_mut(), workspace)?;
    for (_, target) in entries(manifest.get_mut("target")) {
        if let Some(target) = target.as_table_like_mut() {
            needed.extend(of_dependencies(target, workspace)?);
        }
    }
    Ok(needed)
}

fn entries(table: Option<&mut Item>) -> Vec<(String, &mut Item)> {
    let table = table.and_then(Item::as_table_like_mut);
    let entries = table.into_iter().flat_map(|table| table.iter_mut());
    entries.map(|(key, item)| (key.to_string(), item)).collect()
}

fn of_dependencies(tables: &mut dyn TableLike, workspace: &Item) -> Result<Vec<String>> {
    let mut needed = Vec::new();
    for kind in ["dependencies", "build-dependencies"] {
        for (name, item) in entries(tables.get_mut(kind)) {
            if inherits(item) {
                let whole = inherited(workspace, "dependencies", &name)?;
                *item = value(merged(whole, item));
            }
            if item.get("path").is_some() {
                item["path"] = value(format!("../{name}"));
                needed.push(name);
            }
        }
    }
    Ok(needed)
}

/// A dependency of the workspace with what a package adds to it.
fn merged(whole: &Item, asked: &Item) -> InlineTable {
    let mut merged = match whole.as_value() {
        Some(Value::InlineTable(table)) => table.clone(),
        version => version.map(|it| ("version", it)).into_iter().collect(),
    };
    let features = [whole, asked].map(|it| it.get("features").and_then(Item::as_array));
    let features: Array = features.into_iter().flatten().flatten().cloned().collect();
    let asked = asked.as_table_like().into_iter().flat_map(|it| it.iter());
    for (key, item) in asked.filter(|(key, _)| *key != "workspace") {
        merged.extend(item.as_value().map(|value| (key, value.clone())));
    }
    if !features.is_empty() {
        merged.insert("features", features.into());
    }
    merged
}

#[cfg(test)]
mod tests {
    use cargo_metadata::{Dependency, DependencyKind, MetadataCommand, Package};

    use super::*;

    fn packages(manifest: &Path) -> Vec<Package> {
        let mut command = MetadataCommand::new();
        let metadata = command.manifest_path(manifest).no_deps().exec();
        metadata.expect("a manifest that stands alone").packages
    }

    /// What must be the same in a copy. Of a path the last folder is.
    fn said(package: &Package) -> Vec<String> {
        let kept = |of: &&Dependency| of.kind != DependencyKind::Development;
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
        said.push(format!("{} {:?}", package.edition, package.features));
        said
    }

    #[test]
    fn copies_stand_alone_and_ask_for_the_same() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        copy(&COPIED, dir.path()).expect("it is a package of ours");
        let ours = packages(&ours::root().expect("it is there").join("Cargo.toml"));
        let mut copied = Vec::new();
        for entry in fs::read_dir(dir.path()).expect("it is there") {
            let folder = entry.expect("it can be read").path();
            let [copy] = &packages(&folder.join("Cargo.toml"))[..] else {
                panic!("{}: not alone", folder.display());
            };
            let original = ours.iter().find(|it| it.name == copy.name);
            let original = original.expect("it was copied from there");
            assert_eq!(said(copy), said(original), "{}", copy.name);
            let paths = copy.dependencies.iter().filter_map(|it| it.path.as_ref());
            for path in paths {
                assert!(path.starts_with(dir.path()) && path.is_dir(), "{path}");
            }
            copied.push(copy.name.to_string());
        }
        copied.sort();
        assert_eq!(
            copied,
            ["lab-types", "node-ab", "poll-probe", "run-format", "slices"]
        );
    }

    #[test]
    fn what_a_package_adds_is_added_to_what_it_inherits() {
        let workspace = "[workspace.dependencies]\na = \"1\"\n\
             b = { version = \"2\", default-features = false, features = [\"x\"] }\n\
             [workspace.package]\nedition = \"2024\"\n[workspace.lints.rust]\nunused = \"allow\"\n";
        let workspace: DocumentMut = workspace.parse().expect("a manifest");
        let manifest = "package.edition.workspace = true\npackage.rust-version = \"1.91\"\nlints.workspace = true\n\
             [dependencies]\na.workspace = true\n\
             [target.'cfg(unix)'.dependencies]\n\
             b = { workspace = true, optional = true, features = [\"y\"] }\n";
        let mut manifest: DocumentMut = manifest.parse().expect("a manifest");
        stand_alone(&mut manifest, &workspace["workspace"]).expect("all of it is there");
        let text = |item: &Item| item.to_string().replace(' ', "");
        assert_eq!(text(&manifest["dependencies"]["a"]), "{version=\"1\"}");
        assert_eq!(
            text(&manifest["target"]["cfg(unix)"]["dependencies"]["b"]),
            "{version=\"2\",default-features=false,features=[\"x\",\"y\"],optional=true}"
        );
        assert_eq!(manifest["package"]["edition"].as_str(), Some("2024"));
        assert!(manifest["package"].get("rust-version").is_none());
        assert_eq!(manifest["lints"]["rust"]["unused"].as_str(), Some("allow"));
    }
}
