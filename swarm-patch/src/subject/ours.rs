//! Copies this workspace, or packages of it, without tests and documents.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::{DependencyKind, Metadata, Package};
use fs_err as fs;
use sha2::{Digest, Sha256};
use toml_edit::{Array, DocumentMut, value};
use walkdir::WalkDir;

use super::compiler;
use crate::edits::Edits;
use crate::source_tree::relative;
use crate::stacks::Stack;

/// The parts of a package that are copied.
const PARTS: [&str; 3] = ["Cargo.toml", "build.rs", "src"];

/// The other parts of the workspace that are copied.
const OTHERS: [&str; 3] = ["Cargo.lock", "Cargo.toml", "swarm-patch/upstream"];

/// This workspace, at the place where this program was built.
pub(crate) struct Ours {
    pub(crate) root: PathBuf,
    metadata: Metadata,
}

pub(crate) fn root() -> Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .filter(|root| root.join("Cargo.lock").is_file())
        .map(Path::to_owned)
        .context(concat!(
            "the workspace that this program was built in is not at ",
            env!("CARGO_MANIFEST_DIR"),
            " any more"
        ))
}

impl Ours {
    pub(crate) fn read() -> Result<Ours> {
        let metadata = compiler::metadata(&root()?, &["--no-deps"])?;
        let root = metadata.workspace_root.clone().into_std_path_buf();
        Ok(Ours { root, metadata })
    }

    fn package(&self, name: &str) -> Result<&Package> {
        let mut packages = self.metadata.packages.iter();
        let found = packages.find(|package| package.name.as_str() == name);
        found.with_context(|| format!("the workspace has no package {name}"))
    }

    /// The packages with these names, and all packages of this workspace that they depend on.
    pub(crate) fn with_dependencies(&self, names: &[&str]) -> Result<Vec<&Package>> {
        let mut found = names
            .iter()
            .map(|name| self.package(name))
            .collect::<Result<Vec<_>>>()?;
        let mut number = 0;
        while let Some(package) = found.get(number).copied() {
            number += 1;
            for dependency in &package.dependencies {
                let is_needed =
                    dependency.kind != DependencyKind::Development && dependency.path.is_some();
                let mut known = found.iter();
                if is_needed && known.all(|known| known.name.as_str() != dependency.name) {
                    found.push(self.package(&dependency.name)?);
                }
            }
        }
        Ok(found)
    }

    /// The folders of the packages that a stack's node program is built from, relative to the workspace.
    fn members(&self, stack: &Stack) -> Result<Vec<PathBuf>> {
        let packages = self.with_dependencies(&[&stack.program()])?;
        let mut folders: Vec<_> = packages
            .iter()
            .map(|package| relative(&self.root, folder(package)))
            .collect();
        folders.sort();
        Ok(folders)
    }

    /// The files that a stack's node program is built from, relative to the workspace.
    fn files(&self, stack: &Stack) -> Result<Vec<PathBuf>> {
        let mut parts = OTHERS.map(PathBuf::from).to_vec();
        for member in self.members(stack)? {
            parts.extend(PARTS.map(|part| member.join(part)));
        }
        files(&self.root, &parts)
    }

    /// The hash of all files that are copied.
    pub(super) fn digest(&self, stack: &Stack) -> Result<String> {
        let mut hash = Sha256::new();
        for file in self.files(stack)? {
            let text = fs::read(self.root.join(&file))?;
            hash.update(format!("{}\0{}\0", file.display(), text.len()));
            hash.update(&text);
        }
        Ok(format!("{:x}", hash.finalize()))
    }

    /// Copies the packages that a stack's node program is built from to the new folder `to`, as a workspace of its own. The
    /// copy asks for the crates of `versions` in the versions given there.
    pub(super) fn copy(
        &self,
        stack: &Stack,
        to: &Path,
        versions: &[(String, String)],
        edits: &mut Edits,
    ) -> Result<()> {
        copy_files(&self.root, &self.files(stack)?, to)?;
        let members = self.members(stack)?;
        for member in &members {
            edits.toml(to.join(member).join("Cargo.toml"), |manifest| {
                // The files of these targets are not copied.
                for table in ["dev-dependencies", "test", "bench", "example"] {
                    manifest.remove(table);
                }
            })?;
        }
        let names = members.iter().map(|member| member.display().to_string());
        edits.toml(to.join("Cargo.toml"), |root| {
            root["workspace"]["members"] = value(Array::from_iter(names));
            root.remove("patch");
            ask_for(root, versions);
        })
    }

    /// The features of the stack's crate that the nodes of subjects are built with: all features that a sweep may need.
    pub(super) fn features(&self, stack: &Stack) -> Result<Vec<String>> {
        let dependencies = self.package(&stack.program())?.dependencies.iter();
        let on_stack = dependencies.filter(|dependency| dependency.name == stack.name);
        let features = on_stack.flat_map(|dependency| dependency.features.clone());
        Ok(features.chain(self.optional_features(stack)?).collect())
    }

    /// The features of the program that turn on a feature of the same name of the stack's crate.
    pub(super) fn optional_features(&self, stack: &Stack) -> Result<Vec<String>> {
        let features = self.package(&stack.program())?.features.iter();
        let passed_on =
            features.filter(|(name, on)| on.contains(&format!("{}/{name}", stack.name)));
        Ok(passed_on.map(|(name, _)| name.clone()).collect())
    }
}

/// The folder of a package.
pub(crate) fn folder(package: &Package) -> &Path {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().unwrap_or(Path::new(""))
}

/// All files of the parts of a folder, relative to the folder. A part that is not there has no files.
pub(crate) fn files(dir: &Path, parts: &[impl AsRef<Path>]) -> Result<Vec<PathBuf>> {
    let paths = parts.iter().map(|part| dir.join(part));
    let mut found = Vec::new();
    for path in paths.filter(|path| path.exists()) {
        for entry in WalkDir::new(path).sort_by_file_name() {
            let path = entry?.into_path();
            if !path.is_dir() {
                found.push(path.strip_prefix(dir)?.to_owned());
            }
        }
    }
    Ok(found)
}

pub(crate) fn copy_files(from: &Path, files: &[PathBuf], to: &Path) -> Result<()> {
    for file in files {
        let target = to.join(file);
        target.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::copy(from.join(file), target)?;
    }
    Ok(())
}

fn ask_for(manifest: &mut DocumentMut, versions: &[(String, String)]) {
    for (name, version) in versions {
        if let Some(asked) = manifest["workspace"]["dependencies"].get_mut(name) {
            let asked = match asked.get("version") {
                Some(_) => &mut asked["version"],
                None => asked,
            };
            *asked = value(requirement(version));
        }
    }
}

/// The release of libp2p-stream that goes with a release of libp2p. All versions of libp2p-stream are pre-releases, and cargo
/// takes a pre-release only if a manifest names it.
pub(super) fn stream_release(libp2p: &str) -> Result<&'static str> {
    const RELEASES: [(&str, &str); 3] = [
        ("0.57", "0.5.0-alpha"),
        ("0.56", "0.4.0-alpha"),
        ("0.55", "0.3.0-alpha"),
    ];
    let is_of_minor = |minor: &str| libp2p == minor || libp2p.starts_with(&format!("{minor}."));
    match RELEASES.iter().find(|(minor, _)| is_of_minor(minor)) {
        Some((_, stream)) => Ok(stream),
        None => bail!(
            "no libp2p-stream is known to go with libp2p {libp2p} (accepted: {})",
            RELEASES.map(|(minor, _)| minor).join(", ")
        ),
    }
}

/// The requirement of a manifest for this version. A version with all three numbers is required exactly.
pub(super) fn requirement(version: &str) -> String {
    match version.split('.').count() {
        0..=2 => version.to_owned(),
        _ => format!("={version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::{H2, IROH, LIBP2P, STACKS};

    #[test]
    fn the_release_of_the_lock_file_is_accepted() {
        let path = root().expect("it is there").join("Cargo.toml");
        let text = fs::read_to_string(path).expect("it can be read");
        let manifest: DocumentMut = text.parse().expect("it is a manifest");
        let asked_for = |name: &str| {
            let version = manifest["workspace"]["dependencies"][name].as_str();
            version.expect("it is asked for").trim_start_matches('=')
        };
        let stream = stream_release(asked_for("libp2p")).expect("it has one");
        assert_eq!(stream, asked_for("libp2p-stream"));
    }

    #[test]
    fn subjects_have_all_that_nodes_may_be_asked_for() {
        let ours = Ours::read().expect("it is there");
        let optional = ours.optional_features(&LIBP2P).expect("it is a package");
        assert_eq!(optional, ["gossipsub", "quic", "tls"]);
        let features_of = |stack| ours.features(stack).expect("it is a package");
        assert_eq!(features_of(&IROH), ["tls-ring"]);
        assert!(features_of(&H2).is_empty());
        let features = features_of(&LIBP2P);
        for name in ["noise", "quic", "tcp", "tls"] {
            assert!(features.iter().any(|feature| feature == name), "{name}");
        }
    }

    #[test]
    fn the_copy_is_a_workspace_that_has_all_its_members() {
        let ours = Ours::read().expect("it is there");
        for stack in STACKS {
            let dir = tempfile::tempdir().expect("a temporary folder can be made");
            let versions =
                [stack.name, "nothing-of-ours"].map(|name| (name.into(), "9.9.9".into()));
            let copied = ours.copy(stack, dir.path(), &versions, &mut Edits::default());
            copied.expect("it can be copied");
            let metadata =
                compiler::metadata(dir.path(), &["--no-deps"]).expect("it is a workspace");
            let packages = metadata.packages.iter();
            let mut members: Vec<String> =
                packages.map(|package| package.name.to_string()).collect();
            members.sort();
            let mut expected = vec![
                "node-ab".to_owned(),
                "node-kit".to_owned(),
                "poll-probe".to_owned(),
                "program".to_owned(),
                "run-format".to_owned(),
                "swarm-patch".to_owned(),
                stack.program(),
            ];
            expected.sort();
            assert_eq!(members, expected);
            let packages = metadata.packages.iter();
            let asked: Vec<_> = packages.flat_map(|package| &package.dependencies).collect();
            let mut own = asked.iter().filter(|dependency| dependency.path.is_some());
            assert!(own.all(|dependency| members.contains(&dependency.name)));
            let on_stack = asked
                .iter()
                .find(|dependency| dependency.name == stack.name)
                .expect("the program needs it");
            assert_eq!(on_stack.req.to_string(), "=9.9.9");
            assert_eq!(on_stack.uses_default_features, stack.name != "iroh");
        }
    }

    #[test]
    fn every_release_that_is_accepted_has_its_stream() {
        assert_eq!(stream_release("0.56").ok(), Some("0.4.0-alpha"));
        assert_eq!(stream_release("0.55.0").ok(), Some("0.3.0-alpha"));
        let complaint = stream_release("0.5")
            .expect_err("there is none")
            .to_string();
        assert!(
            complaint.contains("accepted: 0.57, 0.56, 0.55"),
            "{complaint}"
        );
    }
}
