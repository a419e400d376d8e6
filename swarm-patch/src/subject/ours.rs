//! The part of this workspace that the benchmark is built from, as a workspace of its own: it asks for
//! the subject's versions, and its lock file is not ours.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use sha2::{Digest, Sha256};
use toml_edit::{Array, DocumentMut, Item, value};
use walkdir::WalkDir;

use crate::checkout::{Edit, read_toml};
use crate::stacks::Stack;

/// Its packages, besides the node program's.
const MEMBERS: [&str; 9] = [
    "latency-benchmark/lab/types",
    "latency-benchmark/node-kit",
    "latency-benchmark/plan",
    "latency-benchmark/program",
    "latency-benchmark/run-format",
    "latency-benchmark/slices",
    "latency-benchmark/thread-scope",
    "swarm-patch",
    "swarm-patch/poll-probe",
];

/// What is copied of each, if it has it. Tests and documents are not.
pub(crate) const PARTS: [&str; 3] = ["Cargo.toml", "build.rs", "src"];

/// What is copied besides.
const OTHERS: [&str; 3] = ["Cargo.lock", "Cargo.toml", "swarm-patch/upstream"];

/// This workspace, where it was when this was built.
pub(crate) fn root() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = root.filter(|root| root.join("Cargo.lock").is_file());
    root.map(Path::to_owned).context(concat!(
        "the workspace that this program was built in is not at ",
        env!("CARGO_MANIFEST_DIR"),
        " any more"
    ))
}

fn members(stack: &Stack) -> impl Iterator<Item = &'static str> {
    MEMBERS.into_iter().chain([stack.node])
}

/// Of the contents of all that is copied.
pub(super) fn digest(root: &Path, stack: &Stack) -> Result<String> {
    let mut hash = Sha256::new();
    for (name, path) in files(root, stack)? {
        let text = fs::read(path)?;
        hash.update(format!("{}\0{}\0", name.display(), text.len()));
        hash.update(&text);
    }
    Ok(format!("{:x}", hash.finalize()))
}

/// Copies it to the new folder `to`. Where it asks for one of these crates, the copy asks for this version. Returns what
/// was edited.
pub(super) fn copy(
    root: &Path,
    stack: &Stack,
    to: &Path,
    versions: &[(String, String)],
) -> Result<Vec<Edit>> {
    for (name, path) in files(root, stack)? {
        let target = to.join(name);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(path, target)?;
    }
    let mut edits = vec![Edit::of_toml(to.join("Cargo.toml"), |root| {
        workspace(root, stack, versions);
        Ok(())
    })?];
    for member in members(stack) {
        let manifest = to.join(member).join("Cargo.toml");
        edits.push(Edit::of_toml(manifest, |manifest| {
            remove_what_is_not_copied(manifest);
            Ok(())
        })?);
    }
    crate::checkout::write(&edits)?;
    Ok(edits)
}

/// Removes targets whose files are not copied, and what only these need.
pub(crate) fn remove_what_is_not_copied(manifest: &mut DocumentMut) {
    for table in ["dev-dependencies", "test", "bench", "example"] {
        manifest.remove(table);
    }
}

/// The features of the stack's crate that the nodes of subjects are built with: all that they may be asked for.
pub(super) fn features(root: &Path, stack: &Stack) -> Result<Vec<String>> {
    let manifest = program_manifest(root, stack)?;
    let features = manifest["dependencies"][stack.name].get("features");
    let features = features.and_then(Item::as_array).into_iter().flatten();
    let names = features.filter_map(|name| Some(name.as_str()?.to_owned()));
    Ok(names.chain(optional_features(root, stack)?).collect())
}

/// The features of the program that are features of the stack's crate, each by the same name.
pub(super) fn optional_features(root: &Path, stack: &Stack) -> Result<Vec<String>> {
    let manifest = program_manifest(root, stack)?;
    let features = manifest.get("features").and_then(Item::as_table);
    let is_of_stack = |name: &str, value: &Item| {
        let of = value.as_array().into_iter().flatten();
        of.filter_map(|feature| feature.as_str())
            .any(|feature| feature.split_once('/') == Some((stack.name, name)))
    };
    let names = features
        .into_iter()
        .flatten()
        .filter(|(name, value)| is_of_stack(name, value));
    Ok(names.map(|(name, _)| name.to_owned()).collect())
}

fn program_manifest(root: &Path, stack: &Stack) -> Result<DocumentMut> {
    read_toml(&root.join(stack.node).join("Cargo.toml"))
}

/// The release of libp2p-stream that goes with one of libp2p. Its versions are all pre-releases, of
/// which cargo takes none that is not named.
pub(super) fn stream_release(libp2p: &str) -> Result<&'static str> {
    const RELEASES: [(&str, &str); 3] = [
        ("0.57", "0.5.0-alpha"),
        ("0.56", "0.4.0-alpha"),
        ("0.55", "0.3.0-alpha"),
    ];
    let is_it = |minor: &str| libp2p == minor || libp2p.starts_with(&format!("{minor}."));
    match RELEASES.iter().find(|(minor, _)| is_it(minor)) {
        Some((_, stream)) => Ok(stream),
        None => bail!(
            "no libp2p-stream is known to go with libp2p {libp2p} (accepted: {})",
            RELEASES.map(|(minor, _)| minor).join(", ")
        ),
    }
}

fn files(root: &Path, stack: &Stack) -> Result<Vec<(PathBuf, PathBuf)>> {
    let of_member = |member: &str| PARTS.map(|part| root.join(member).join(part));
    let of_members = members(stack).flat_map(of_member);
    let others = OTHERS.map(|part| root.join(part));
    let mut found = Vec::new();
    for part in others
        .into_iter()
        .chain(of_members.filter(|it| it.exists()))
    {
        for entry in WalkDir::new(part).sort_by_file_name() {
            let path = entry?.into_path();
            if !path.is_dir() {
                found.push((path.strip_prefix(root)?.to_owned(), path));
            }
        }
    }
    Ok(found)
}

fn workspace(manifest: &mut DocumentMut, stack: &Stack, versions: &[(String, String)]) {
    manifest["workspace"]["members"] = value(Array::from_iter(members(stack)));
    // The command line says what takes whose place.
    manifest.remove("patch");
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

/// A whole version is meant exactly.
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
        let manifest = root().expect("it is there").join("Cargo.toml");
        let manifest = fs::read_to_string(manifest).expect("it can be read");
        let manifest: DocumentMut = manifest.parse().expect("it is a manifest");
        let asked_for = |name: &str| {
            let version = manifest["workspace"]["dependencies"][name].as_str();
            version.expect("it is asked for").trim_start_matches('=')
        };
        let stream = stream_release(asked_for("libp2p")).expect("it has one");
        assert_eq!(stream, asked_for("libp2p-stream"));
    }

    #[test]
    fn subjects_have_all_that_nodes_may_be_asked_for() {
        let root = root().expect("it is there");
        assert_eq!(
            optional_features(&root, &LIBP2P).expect("it is a manifest"),
            ["gossipsub", "quic", "tls"]
        );
        let of = |stack| features(&root, stack).expect("it is a manifest");
        assert_eq!(of(&IROH), ["tls-ring"]);
        assert!(of(&H2).is_empty());
        let features = features(&root, &LIBP2P).expect("it is a manifest");
        for name in ["noise", "quic", "tcp", "tls"] {
            assert!(features.iter().any(|feature| feature == name), "{name}");
        }
    }

    #[test]
    fn the_copy_is_a_workspace_that_has_all_its_members() {
        let root = root().expect("it is there");
        for stack in STACKS {
            let dir = tempfile::tempdir().expect("a temporary folder can be made");
            let versions = [stack.name, "nothing-of-ours"].map(|it| (it.into(), "9.9.9".into()));
            copy(&root, stack, dir.path(), &versions).expect("it can be copied");
            let metadata = cargo_metadata::MetadataCommand::new()
                .manifest_path(dir.path().join("Cargo.toml"))
                .no_deps()
                .exec()
                .expect("it is a workspace");
            let packages = metadata.packages.iter();
            let mut members: Vec<String> = packages.map(|it| it.name.to_string()).collect();
            members.sort();
            let mut expected = vec![
                "lab-types".to_owned(),
                "node-kit".to_owned(),
                "plan".to_owned(),
                "poll-probe".to_owned(),
                "program".to_owned(),
                "run-format".to_owned(),
                "slices".to_owned(),
                "swarm-patch".to_owned(),
                "thread-scope".to_owned(),
                stack.program(),
            ];
            expected.sort();
            assert_eq!(members, expected);
            let packages = metadata.packages.iter();
            let asked: Vec<_> = packages.flat_map(|it| &it.dependencies).collect();
            let mut own = asked.iter().filter(|it| it.path.is_some());
            assert!(own.all(|dependency| members.contains(&dependency.name)));
            let own = asked.iter().find(|it| it.name == stack.name);
            let own = own.expect("the program needs it");
            assert_eq!(own.req.to_string(), "=9.9.9");
            assert_eq!(own.uses_default_features, stack.name != "iroh");
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
