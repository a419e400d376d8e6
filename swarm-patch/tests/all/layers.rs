//! Subjects with a crate that comes from elsewhere, or that a diff changes.

use std::fs;
use std::path::Path;

use crate::scratch::folder;
use run_format::CrateOrigin;
use swarm_patch::package::upstream_manifest;
use swarm_patch::stacks::LIBP2P;
use swarm_patch::subject::builder::{Profile, SubjectBuilder};
use swarm_patch::subject::{Subject, crates};
use swarm_patch::{diff, pristine};

const FILE: &str = "src/lib.rs";
const PLANTED: &str = "// Planted.\n";

fn find(spec: &str) -> Result<Subject, String> {
    let found = Subject::find(&LIBP2P, &spec.parse()?);
    found.map_err(|error| format!("{error:#}"))
}

/// Writes a diff for a crate of the registry.
fn plant(manifest: &Path, package: &str, to: &Path) {
    let source = pristine::find(manifest, &[package]).expect("the build needed it");
    let before = source[0].read(FILE).expect("it is there");
    let after = before.clone() + PLANTED;
    fs::write(to, diff::file_diff(FILE, &before, &after)).expect("the folder is ours");
}

#[test]
fn a_diff_of_a_release_needs_no_checkout() {
    let dir = folder();
    let path = dir.path().join("x.diff");
    plant(&upstream_manifest(), "yamux", &path);
    let diff = path.display();
    let builder = SubjectBuilder::open(&LIBP2P, Profile::Debug).expect("the folder can be made");
    let id = |subject| builder.id(&subject).expect("it can be named");
    let by_crate = id(find(&format!("released+yamux=released+{diff}")).expect("it applies"));
    let subject = find(&format!("released+{diff}")).expect("it applies to yamux");
    let copies = folder();
    let sources = crates::sources(&LIBP2P, &subject, copies.path()).expect("they are there");
    for source in sources {
        let is_planted = source.read(FILE).expect("it is there").ends_with(PLANTED);
        assert_eq!(is_planted, source.name == "yamux", "{}", source.name);
    }
    assert_eq!(id(subject), by_crate);
    assert_ne!(id(find("released").expect("a release")), by_crate);

    let tokio_refusal =
        find(&format!("released+tokio=released+{diff}")).expect_err("another crate");
    assert!(
        tokio_refusal.contains("does not apply: git says"),
        "{tokio_refusal}"
    );
    fs::write(&path, diff::file_diff(FILE, "x\n", "y\n")).expect("the folder is ours");
    let other_refusal = find(&format!("released+{diff}")).expect_err("no crate has this line");
    let says = "applies to none of libp2p-swarm, yamux, quinn";
    assert!(other_refusal.contains(says), "{other_refusal}");
}

#[test]
fn a_crate_with_two_sources_is_refused() {
    let twice = "released+yamux=released@0.14+yamux=released@0.13";
    let refusal = find(twice).expect_err(twice);
    assert!(refusal.contains("yamux has two sources"), "{refusal}");
}

#[test]
#[ignore = "exhaustive: builds the node program twice"]
fn exhaustive_another_tokio_is_built_with_and_without_the_graft() {
    let dir = folder();
    let path = dir.path().join("x.diff");
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("Cargo.toml");
    plant(&ours, "tokio", &path);
    let mut subject =
        find(&format!("released+tokio=released+{}", path.display())).expect("it applies");
    let builder = SubjectBuilder::open(&LIBP2P, Profile::Debug).expect("the folder can be made");
    for is_plain in [false, true] {
        subject.is_plain = is_plain;
        let id = builder.id(&subject).expect("it can be named");
        let built = builder.build(&subject, &id, "it").expect("it compiles");
        let crates = &built.record.crates;
        let is_layer = |name: &str| {
            let used = crates.iter().find(|record| record.name == name);
            used.expect("it is used").from == CrateOrigin::Layer
        };
        assert!(is_layer("tokio") && !is_layer("yamux"));
        assert_eq!(crates.iter().any(|record| record.grafted), !is_plain);
        assert_eq!(built.record.levels.is_empty(), is_plain);
        let edits = fs::read_to_string(built.dir.join("edits.diff")).expect("it is there");
        assert!(edits.contains("+// Planted."), "{edits}");
        assert_eq!(edits.contains("poll_probe"), !is_plain);
    }
}
