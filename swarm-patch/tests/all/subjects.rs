//! Checkouts of every kind: their descriptions and their copies.

use std::fs;
use std::path::Path;

use crate::command::printed;
use crate::repository::{contents, git, repository};
use crate::scratch::{folder, replace};
use run_format::{Commit, Difference, SourceRecord};
use swarm_patch::crate_dir::CrateDir;
use swarm_patch::stacks::LIBP2P;
use swarm_patch::subject::builder::{Profile, Program, SubjectBuilder};
use swarm_patch::subject::checkout::Checkout;
use swarm_patch::subject::source_spec::{Origin, SourceSpec};
use swarm_patch::subject::{Subject, crates};

/// The commit, the difference and the hash of the tree that identify the contents of a checkout.
type CheckoutContent = (Option<Commit>, Option<Difference>, Option<String>);

fn resolve(spec: &str) -> Result<Checkout, String> {
    let spec: SourceSpec = spec.parse()?;
    let Origin::Checkout(path, revision) = &spec.origin else {
        return Err("no checkout".to_owned());
    };
    Checkout::resolve(path, revision.as_deref()).map_err(|error| format!("{error:#}"))
}

fn known(spec: &str) -> CheckoutContent {
    match resolve(spec)
        .unwrap_or_else(|error| panic!("{spec}: {error}"))
        .record
    {
        SourceRecord::Checkout {
            commit,
            difference,
            tree_sha256,
            ..
        } => (commit, difference, tree_sha256),
        other => panic!("{spec}: {other:?}"),
    }
}

fn refusal(spec: &str) -> String {
    resolve(spec).expect_err(spec)
}

/// The text of `note` in a copy, and the files of the copy.
fn exported(spec: &str) -> (Option<String>, Vec<String>) {
    let dir = folder();
    let copy = dir.path().join("copy");
    let checkout = resolve(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    checkout
        .export(&copy)
        .unwrap_or_else(|error| panic!("{spec}: {error:#}"));
    let files = contents(&copy);
    assert!(
        files.contains_key(Path::new("swarm/src/connection.rs")),
        "{spec}"
    );
    assert!(
        !files.keys().any(|path| path.starts_with(".git/")),
        "{spec}"
    );
    let names = files
        .keys()
        .map(|path| path.display().to_string())
        .collect();
    (fs::read_to_string(copy.join("note")).ok(), names)
}

fn noted(spec: &str) -> String {
    exported(spec).0.expect("there is a note")
}

#[test]
fn a_diff_is_applied_to_the_copy_only() {
    let dir = folder();
    let root = repository(dir.path(), "tree");
    let diff = dir.path().join("my-fix.diff");
    let text = |from: &str| {
        format!(
            "--- a/note\n+++ b/note\n@@ -1 +1 @@\n-{from}\n+third\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+new\n"
        )
    };
    fs::write(&diff, text("first")).expect("the folder is ours");
    let spec = format!("{}@first+{}", root.display(), diff.display());
    let subject = |text: &str| {
        let spec = text.parse().expect("it is there");
        Subject::find(&LIBP2P, &spec).map_err(|error| format!("{error:#}"))
    };
    let found = subject(&spec).expect("it applies");
    let copies = folder();
    crates::sources(&LIBP2P, &found, copies.path()).expect("they are there");
    let note = |dir: &Path| fs::read_to_string(dir.join("note")).expect("it is there");
    let copy = copies.path().join("upstream");
    assert_eq!((&*note(&copy), &*note(&root)), ("third\n", "second\n"));
    assert!(copy.join("new").exists());
    let patches = found.patches();
    assert!(patches[0].patch.ends_with("my-fix.diff") && patches[0].sha256.is_some());
    let refusal = subject(&spec.replace("@first", "")).expect_err("it is another note");
    assert!(
        refusal.contains("my-fix.diff does not apply: git says: error: patch failed: note:1"),
        "{refusal}"
    );
    assert_eq!(refusal.lines().count(), 1, "{refusal}");
}

#[test]
fn a_subject_with_a_budget_has_its_patch_and_no_other_id_does() {
    let dir = folder();
    let root = repository(dir.path(), "tree");
    let builder = SubjectBuilder::open(&LIBP2P, Profile::Debug).expect("the folder can be made");
    let mut ids = std::collections::BTreeSet::new();
    let base = root.display();
    for spec in ["released", "released+muxer=1", "released+muxer=1/deferred"] {
        let subject =
            Subject::find(&LIBP2P, &spec.parse().expect("a release")).expect("it applies");
        assert!(ids.insert(builder.id(&subject).expect("it can be named")));
        let copies = folder();
        let sources = crates::sources(&LIBP2P, &subject, copies.path()).expect("they are there");
        for source in sources {
            let is_patched = source
                .read("src/connection.rs")
                .expect("it is there")
                .contains("MAX_ITERATIONS");
            assert_eq!(
                is_patched,
                source.name == "yamux" && spec != "released",
                "{spec}"
            );
            let defers = source
                .read("Cargo.toml")
                .expect("it is there")
                .contains("dep:tokio");
            let is_expected = match source.name.as_str() {
                "libp2p-swarm" => true,
                "yamux" => spec.ends_with("deferred"),
                _ => false,
            };
            assert_eq!(defers, is_expected, "{spec}");
        }
    }
    let spec = format!("{base}@first+connection=1");
    let subject = Subject::find(&LIBP2P, &spec.parse().expect("it is there")).expect("it applies");
    let copies = folder();
    let sources = crates::sources(&LIBP2P, &subject, copies.path()).expect("they are there");
    assert!(
        sources[0]
            .read("src/connection.rs")
            .expect("it is there")
            .contains("MAX_ITERATIONS")
    );
    let released = "released".parse().expect("a release");
    let released = Subject::find(&LIBP2P, &released).expect("it is there");
    let counting = builder.with_program(Program::Explaining).id(&released);
    assert!(ids.insert(counting.expect("it can be named")));
}

#[test]
fn a_revision_is_a_commit_by_whatever_name() {
    let dir = folder();
    let root = repository(dir.path(), "a path with spaces");
    let path = root.display();
    let first = git(&root, &["rev-parse", "main~1"]);
    for revision in [
        "first",
        "topic/one",
        "main~1",
        "main@{0}~1",
        &first,
        &first[..10],
    ] {
        let spec = format!("{path}@{revision}");
        let (commit, difference, tree) = known(&spec);
        let found = commit.expect("it is a commit");
        assert_eq!((&*found.id, &*found.subject_line), (&*first, "The first"));
        assert!(found.committed_unix_s > 0 && difference.is_none() && tree.is_none());
        assert_eq!(noted(&spec), "first\n", "{revision}");
    }
    assert_eq!(noted(&format!("{path}@main")), "second\n");
    for (revision, says) in [
        ("nonsense", "there is no commit \"nonsense\""),
        ("main:note", "there is no commit"),
        ("--all", "there is no commit \"--all\""),
        ("", "no revision after the @"),
    ] {
        let refused = refusal(&format!("{path}@{revision}"));
        assert!(refused.contains(says), "{revision}: {refused}");
    }
}

#[test]
fn a_working_tree_is_its_commit_and_what_differs() {
    let dir = folder();
    let root = repository(dir.path(), "tree");
    let spec = root.display().to_string();
    let clean = known(&spec);
    assert_eq!(clean, known(&format!("{spec}@main")));

    fs::write(root.join("note"), "changed\n").expect("the folder is ours");
    fs::write(root.join("new"), "new\n").expect("the folder is ours");
    fs::create_dir(root.join("target")).expect("the folder is ours");
    fs::write(root.join("target/ignored"), "").expect("the folder is ours");
    fs::remove_file(root.join("swarm/README.md")).ok();
    fs::remove_file(root.join("swarm/CHANGELOG.md")).expect("upstream has one");
    let (commit, difference, _) = known(&spec);
    assert_eq!(commit, clean.0);
    let difference = difference.expect("there is one");
    assert!(difference.files >= 3 && difference.sha256.len() == 64);
    assert_eq!(
        known(&spec).1,
        Some(difference.clone()),
        "it is the same twice"
    );
    let (note, files) = exported(&spec);
    assert_eq!(note.as_deref(), Some("changed\n"));
    assert!(files.contains(&"new".to_owned()));
    assert!(!files.contains(&"target/ignored".to_owned()));
    assert!(!files.contains(&"swarm/CHANGELOG.md".to_owned()));
    assert_eq!(noted(&format!("{spec}@main")), "second\n");

    // Staging a file changes nothing, but different contents of it do.
    git(&root, &["add", "new"]);
    assert_eq!(known(&spec).1, Some(difference.clone()));
    fs::write(root.join("new"), "newer\n").expect("the folder is ours");
    assert_ne!(known(&spec).1, Some(difference));
}

#[test]
fn the_checkout_is_only_read() {
    let dir = folder();
    let root = repository(dir.path(), "tree");
    fs::write(root.join("note"), "changed\n").expect("the folder is ours");
    let before = contents(&root);
    for spec in [
        root.display().to_string(),
        format!("{}@first", root.display()),
    ] {
        exported(&spec);
        printed(&["sites", "--subject", &spec]);
    }
    assert_eq!(contents(&root), before);
}

#[test]
fn a_bare_repository_has_revisions_only() {
    let dir = folder();
    let root = repository(dir.path(), "tree");
    git(
        dir.path(),
        &["clone", "--quiet", "--bare", "tree", "bare.git"],
    );
    let bare = dir.path().join("bare.git").display().to_string();
    assert!(refusal(&bare).contains("accepted: PATH@REV"));
    assert_eq!(noted(&format!("{bare}@first")), "first\n");
    assert_eq!(noted(&format!("{}/.git@first", root.display())), "first\n");
}

#[test]
fn a_shallow_repository_has_the_commits_that_it_has() {
    let dir = folder();
    let root = repository(dir.path(), "tree");
    let from = format!("file://{}", root.display());
    git(
        dir.path(),
        &["clone", "--quiet", "--depth", "1", &from, "shallow"],
    );
    let shallow = dir.path().join("shallow").display().to_string();
    assert_eq!(noted(&shallow), "second\n");
    assert_eq!(noted(&format!("{shallow}@HEAD")), "second\n");
    assert!(refusal(&format!("{shallow}@HEAD~1")).contains("the repository is shallow"));
}

#[test]
fn a_linked_working_tree_is_one() {
    let dir = folder();
    let root = repository(dir.path(), "tree");
    git(
        &root,
        &["worktree", "add", "--quiet", "../linked", "topic/one"],
    );
    let linked = dir.path().join("linked").display().to_string();
    assert_eq!(noted(&linked), "first\n");
    assert_eq!(noted(&format!("{linked}@main")), "second\n");
}

#[test]
fn a_folder_without_git_is_known_by_its_tree() {
    let dir = folder();
    let root = repository(dir.path(), "tree");
    let (_, _, tree) = known(&root.display().to_string());
    assert_eq!(tree, None);
    fs::remove_dir_all(root.join(".git")).expect("the folder is ours");
    let spec = root.display().to_string();
    let (commit, difference, tree) = known(&spec);
    assert!(commit.is_none() && difference.is_none());
    assert_eq!(noted(&spec), "second\n");
    assert!(refusal(&format!("{spec}@main")).contains("not the top folder of a git repository"));
    fs::create_dir(root.join("target")).expect("the folder is ours");
    fs::write(root.join("target/built"), "").expect("the folder is ours");
    assert_eq!(known(&spec).2, tree, "what cargo built is not part of it");
    fs::rename(root.join("note"), root.join("notes")).expect("the folder is ours");
    assert_ne!(known(&spec).2, tree, "names are");
}

#[test]
fn an_unpacked_archive_may_lie_in_somebody_elses_repository() {
    let dir = folder();
    let outer = repository(dir.path(), "outer");
    let inner = repository(&outer, "target/unpacked");
    fs::remove_dir_all(inner.join(".git")).expect("the folder is ours");
    let (commit, _, tree) = known(&inner.display().to_string());
    assert!(commit.is_none() && tree.is_some());
}

#[test]
fn before_the_first_commit_everything_is_a_difference() {
    let dir = folder();
    let root = repository(dir.path(), "tree");
    fs::remove_dir_all(root.join(".git")).expect("the folder is ours");
    git(&root, &["init", "--quiet"]);
    let spec = root.display().to_string();
    let (commit, difference, tree) = known(&spec);
    assert!(commit.is_none() && difference.is_some() && tree.is_none());
    assert_eq!(noted(&spec), "second\n");
}

#[test]
fn the_sites_of_a_revision_are_those_of_its_files() {
    let dir = folder();
    let root = repository(dir.path(), "tree");
    let path = root.display().to_string();
    let before = printed(&["sites", "--subject", &path]);
    assert!(before.contains("muxing.poll_unpin"), "{before}");
    let swarm = CrateDir::new("libp2p-swarm", "0", root.join("swarm"));
    replace(
        &swarm.expect("it is there"),
        "src/lib.rs",
        "fn poll_next_event(",
        "fn poll_next_thing(",
    );
    for spec in [format!("{path}@main"), format!("{path}@first")] {
        assert_eq!(printed(&["sites", "--subject", &spec]), before);
    }
    let table = printed(&["sites", "--subject", &path]);
    let swarm: Vec<&str> = table
        .lines()
        .filter(|line| line.contains("not there: "))
        .collect();
    assert_eq!(swarm.len(), 2, "{table}");
    for (line, level) in swarm.iter().zip(["outer", "inner"]) {
        assert!(line.contains(&format!("  swarm       {level} ")), "{line}");
        let says = "looked for one function Swarm::poll_next_event, found none";
        assert!(line.ends_with(says), "{line}");
    }
    assert!(table.contains("muxing.poll_unpin"), "{table}");
}
