//! The part of this workspace that the benchmark is built from, as a workspace of its own: it asks for
//! the subject's libp2p, and its lock file is not ours.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use sha2::{Digest, Sha256};
use toml_edit::{Array, DocumentMut, Item, value};
use walkdir::WalkDir;

use crate::checkout::Edit;

const MEMBERS: [&str; 7] = [
    "latency-benchmark/node",
    "latency-benchmark/node-kit",
    "latency-benchmark/program",
    "latency-benchmark/run-format",
    "latency-benchmark/thread-scope",
    "swarm-patch",
    "swarm-patch/poll-probe",
];

/// What is copied of each, if it has it. Tests and documents are not.
const PARTS: [&str; 3] = ["Cargo.toml", "build.rs", "src"];

/// What is copied besides.
const OTHERS: [&str; 3] = ["Cargo.lock", "Cargo.toml", "swarm-patch/upstream"];

/// Of libp2p, and of libp2p-stream, whose versions count apart.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    pub(super) libp2p: String,
    pub(super) stream: String,
}

/// This workspace, where it was when this was built.
pub(super) fn root() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = root.filter(|root| root.join("Cargo.lock").is_file());
    root.map(Path::to_owned).ok_or_else(|| {
        anyhow!(
            "the workspace that this program was built in is not at {} any more",
            env!("CARGO_MANIFEST_DIR")
        )
    })
}

/// Of the contents of all that is copied.
pub(super) fn digest(root: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    for (name, path) in files(root)? {
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        hash.update(format!("{}\0{}\0", name.display(), text.len()));
        hash.update(&text);
    }
    Ok(format!("{:x}", hash.finalize()))
}

/// Copies it to the new folder `to`, asking for these versions, or for what it asks for anyway. Returns
/// what was edited.
pub(super) fn copy(root: &Path, to: &Path, versions: Option<&Versions>) -> Result<Vec<Edit>> {
    for (name, path) in files(root)? {
        let target = to.join(name);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(&path, &target).with_context(|| format!("cannot copy {}", path.display()))?;
    }
    let mut edits = vec![edit(&to.join("Cargo.toml"), |root| {
        workspace(root, versions)
    })?];
    for member in MEMBERS {
        edits.push(edit(&to.join(member).join("Cargo.toml"), without_tests)?);
    }
    crate::checkout::write(&edits)?;
    Ok(edits)
}

/// The features of libp2p that the nodes of subjects are built with: all that they may be asked for.
pub(super) fn features(root: &Path) -> Result<Vec<String>> {
    let manifest = program_manifest(root)?;
    let features = manifest["dependencies"]["libp2p"]["features"].as_array();
    let names = features
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str());
    let names = names.map(str::to_owned);
    Ok(names.chain(optional_features(root)?).collect())
}

/// The features of the program that are features of libp2p, each by the same name.
pub(super) fn optional_features(root: &Path) -> Result<Vec<String>> {
    let manifest = program_manifest(root)?;
    let features = manifest["features"].as_table();
    let is_of_libp2p = |name: &str, value: &Item| {
        let of = value.as_array().into_iter().flatten();
        of.filter_map(|feature| feature.as_str())
            .any(|feature| feature.strip_prefix("libp2p/") == Some(name))
    };
    let names = features
        .into_iter()
        .flatten()
        .filter(|(name, value)| is_of_libp2p(name, value));
    Ok(names.map(|(name, _)| name.to_owned()).collect())
}

fn program_manifest(root: &Path) -> Result<DocumentMut> {
    let manifest = fs::read_to_string(root.join("latency-benchmark/node/Cargo.toml"))?;
    Ok(manifest.parse()?)
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

fn files(root: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
    let of_member = |member: &str| PARTS.map(|part| root.join(member).join(part));
    let of_members = MEMBERS.into_iter().flat_map(of_member);
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

fn edit(path: &Path, change: impl FnOnce(&mut DocumentMut)) -> Result<Edit> {
    let before =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut manifest: DocumentMut = before
        .parse()
        .with_context(|| format!("cannot parse {}", path.display()))?;
    change(&mut manifest);
    Ok(Edit {
        path: path.to_owned(),
        before,
        after: manifest.to_string(),
    })
}

fn workspace(manifest: &mut DocumentMut, versions: Option<&Versions>) {
    manifest["workspace"]["members"] = value(Array::from_iter(MEMBERS));
    // The command line says what takes whose place.
    manifest.remove("patch");
    if let Some(Versions { libp2p, stream }) = versions {
        let dependencies = &mut manifest["workspace"]["dependencies"];
        dependencies["libp2p"] = value(requirement(libp2p));
        dependencies["libp2p-stream"] = value(format!("={stream}"));
    }
}

/// A whole version is meant exactly.
fn requirement(version: &str) -> String {
    match version.split('.').count() {
        0..=2 => version.to_owned(),
        _ => format!("={version}"),
    }
}

/// Targets whose files are not copied.
fn without_tests(manifest: &mut DocumentMut) {
    for table in ["dev-dependencies", "test", "bench", "example"] {
        manifest.remove(table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            optional_features(&root).expect("it is a manifest"),
            ["gossipsub", "quic", "tls"]
        );
        let features = features(&root).expect("it is a manifest");
        for name in ["noise", "quic", "tcp", "tls"] {
            assert!(features.iter().any(|feature| feature == name), "{name}");
        }
    }

    #[test]
    fn the_copy_is_a_workspace_that_has_all_its_members() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let root = root().expect("it is there");
        copy(&root, dir.path(), None).expect("it can be copied");
        let metadata = cargo_metadata::MetadataCommand::new()
            .manifest_path(dir.path().join("Cargo.toml"))
            .no_deps()
            .exec()
            .expect("it is a workspace");
        let mut members: Vec<String> = metadata
            .packages
            .iter()
            .map(|package| package.name.to_string())
            .collect();
        members.sort();
        assert_eq!(
            members,
            [
                "libp2p-node",
                "node-kit",
                "poll-probe",
                "program",
                "run-format",
                "swarm-patch",
                "thread-scope"
            ]
        );
        let own = metadata
            .packages
            .iter()
            .flat_map(|package| &package.dependencies);
        let mut own = own.filter(|dependency| dependency.path.is_some());
        assert!(own.all(|dependency| members.contains(&dependency.name)));
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
