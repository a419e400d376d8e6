//! Diffs for crates that have no site. FINDINGS recommends them beside the patch of yamux.

use std::fs;
use std::path::Path;

use crate::scratch::{copy, folder, git_apply};
use swarm_patch::pristine;

#[test]
fn the_proposed_diffs_apply_to_the_releases_of_the_lock_file() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let proposals = workspace.join("latency-benchmark/proposals");
    let manifest = workspace.join("Cargo.toml");
    for (package, file) in [
        ("libp2p-noise", "noise.diff"),
        ("asynchronous-codec", "codec.diff"),
    ] {
        let sources =
            pristine::find(&manifest, &[package]).expect("the node program depends on it");
        let [source] = &sources[..] else {
            panic!("{package} has {} versions in the lock file", sources.len());
        };
        let dir = folder();
        let copied = copy(source, dir.path());
        let diff = fs::read_to_string(proposals.join(file)).expect("the diff is there");
        git_apply(&copied.dir, &diff, &[]).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
}
