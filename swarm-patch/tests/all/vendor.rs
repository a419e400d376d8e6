//! Applications get grafted copies of the crates that their lock files name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Metadata, MetadataCommand};
use swarm_patch::package::upstream_manifest;

use crate::command::{complaint, printed, run, text};
use crate::scratch::{copy, folder, missing, pristine_source};

/// A copy of a package, in a new folder of `dir`.
fn application(from: &Path, dir: &Path) -> PathBuf {
    let app = dir.join("app");
    fs::create_dir(&app).expect("the folder is ours");
    for file in [
        "Cargo.toml",
        "Cargo.lock",
        "node.rs",
        "nothing-is-built-here.rs",
    ] {
        match fs::read(from.join(file)) {
            Ok(content) => fs::write(app.join(file), content).expect("the folder is ours"),
            Err(_) => fs::write(app.join(file), "").expect("the folder is ours"),
        }
    }
    app
}

/// A copy of the application of older releases. None, with a message, if cargo cannot download its crates.
fn older(dir: &Path) -> Option<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let app = application(&tests.join("application"), dir);
    let output = Command::new(env!("CARGO"))
        .args(["fetch", "--locked"])
        .current_dir(&app)
        .output()
        .expect("cargo runs, since it runs this");
    match output.status.success() {
        true => Some(app),
        false => missing(&format!(
            "older releases from the registry: {}",
            text(&output.stderr)
        )),
    }
}

fn vendor(app: &Path, more: &[&str]) -> String {
    printed(&[&["vendor", "--for", path(app)], more].concat())
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// A table of what `vendor` printed.
fn table<'a>(printed: &'a str, head: &str) -> Vec<&'a str> {
    let lines = printed.lines().skip_while(|line| *line != head);
    lines.take_while(|line| !line.is_empty()).collect()
}

/// Does what `vendor` says.
fn add_tables(app: &Path, printed: &str) {
    let tables = ["[patch.crates-io]", "[dependencies]"].map(|head| table(printed, head));
    let [patch, dependency] = tables;
    let manifest = app.join("Cargo.toml");
    add_dependency(&manifest, &dependency[1..].join("\n"));
    let text = fs::read_to_string(&manifest).expect("it is there");
    fs::write(&manifest, format!("{text}\n{}\n", patch.join("\n"))).expect("the folder is ours");
}

fn add_dependency(manifest: &Path, line: &str) {
    let text = fs::read_to_string(manifest).expect("it is there");
    let table = "[dependencies]\n";
    let changed = text.replace(table, &format!("{table}{line}\n"));
    fs::write(manifest, changed).expect("the folder is ours");
}

/// The complaint of cargo about an application that also depends on this workspace's poll-probe.
fn said_of_two_copies(app: &Path) -> String {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("poll-probe");
    let line = format!("again = {{ package = \"poll-probe\", path = {ours:?} }}");
    add_dependency(&app.join("Cargo.toml"), &line);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version=1"])
        .current_dir(app)
        .output()
        .expect("cargo runs, since it runs this");
    assert!(!output.status.success());
    self::text(&output.stderr)
}

fn metadata(app: &Path) -> Metadata {
    let metadata = MetadataCommand::new().current_dir(app).exec();
    metadata.expect("cargo has all crates")
}

/// The packages of the registry, as cargo names them.
fn registry_packages(metadata: &Metadata) -> BTreeSet<String> {
    let packages = metadata.packages.iter();
    packages
        .filter(|package| package.source.is_some())
        .map(|package| format!("{} v{}", package.name, package.version))
        .collect()
}

/// The versions of a package, and whether each is a copy.
fn versions(metadata: &Metadata, name: &str) -> Vec<(String, bool)> {
    let packages = metadata
        .packages
        .iter()
        .filter(|package| package.name == name);
    let mut all: Vec<_> = packages
        .map(|package| (package.version.to_string(), package.source.is_none()))
        .collect();
    all.sort();
    all
}

#[test]
fn an_application_of_older_releases_gets_copies_of_all_versions_that_it_uses() {
    let dir = folder();
    let Some(app) = older(dir.path()) else { return };
    let files = ["Cargo.toml", "Cargo.lock"].map(|file| app.join(file));
    let before = files
        .each_ref()
        .map(|file| fs::read(file).expect("it is there"));
    let said = vendor(&app, &[]);
    let after = files
        .each_ref()
        .map(|file| fs::read(file).expect("it is there"));
    assert_eq!(before, after);
    for (id, site) in [
        ("libp2p-swarm 0.47.0", "connection"),
        ("libp2p-swarm 0.47.0", "task"),
        ("yamux 0.12.1", "muxer"),
        ("yamux 0.13.6", "muxer"),
        ("quinn 0.11.8", "quic-endpoint"),
        ("quinn 0.11.8", "quic-connection"),
    ] {
        let is_budget = |row: &str| {
            let words: Vec<&str> = row.split_whitespace().collect();
            words == [id.split(' ').collect(), vec![site, "budget", "measured"]].concat()
        };
        assert!(said.lines().any(is_budget), "{id}, {site}: {said}");
    }
    assert_eq!(
        table(&said, "[patch.crates-io]"),
        [
            "[patch.crates-io]",
            "libp2p-swarm = { path = \"grafted/libp2p-swarm-0.47.0\" }",
            "yamux-0_12_1 = { package = \"yamux\", path = \"grafted/yamux-0.12.1\" }",
            "yamux-0_13_6 = { package = \"yamux\", path = \"grafted/yamux-0.13.6\" }",
            "quinn = { path = \"grafted/quinn-0.11.8\" }",
        ]
    );

    let before = registry_packages(&metadata(&app));
    add_tables(&app, &said);
    let resolved = metadata(&app);
    let after = registry_packages(&resolved);
    // Left to itself, cargo would raise these versions.
    for kept in [
        "bitflags v2.6.0",
        "libc v0.2.172",
        "serde v1.0.210",
        "tokio v1.47.1",
    ] {
        assert!(
            before.contains(kept) && after.contains(kept),
            "{kept}: {said}"
        );
    }
    let is_kept = |package: &&String| {
        !["libp2p-swarm ", "quinn ", "yamux "]
            .iter()
            .any(|replaced| package.starts_with(replaced))
    };
    let gone: Vec<_> = before.difference(&after).filter(is_kept).collect();
    assert!(gone.is_empty(), "{gone:?}: {said}");
    assert!(
        said.contains("Packages of the application that get another version: 0.\n"),
        "{said}"
    );
    let told: BTreeSet<String> = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Adding "))
        .map(|line| line.split(" (").next().unwrap_or(line).to_owned())
        .collect();
    // The metadata leave out packages that no platform and no feature of the application needs.
    let added: BTreeSet<String> = after.difference(&before).cloned().collect();
    assert!(
        added.is_subset(&told) && !added.is_empty(),
        "{added:?}: {said}"
    );
    let lock = fs::read_to_string(app.join("Cargo.lock")).expect("cargo wrote it");
    for package in &told {
        let (name, version) = package.split_once(" v").expect("a version");
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&entry), "{package}");
    }
    for (name, expected) in [
        ("libp2p-swarm", &["0.47.0"][..]),
        ("yamux", &["0.12.1", "0.13.6"]),
        ("quinn", &["0.11.8"]),
        ("poll-probe", &["0.1.0"]),
    ] {
        let copies: Vec<_> = expected
            .iter()
            .map(|version| ((*version).to_owned(), true))
            .collect();
        assert_eq!(versions(&resolved, name), copies, "{name}");
    }
    let again = ["vendor", "--for", path(&app)];
    assert!(complaint(&again, 2).contains("it has a poll-probe already"));
    let said = said_of_two_copies(&app);
    assert!(
        said.contains("links") && said.contains("`poll-probe`"),
        "{said}"
    );
}

#[test]
#[ignore = "exhaustive: compiles an application"]
fn exhaustive_an_application_of_older_releases_records_its_polls() {
    let dir = folder();
    let Some(app) = older(dir.path()) else { return };
    let said = vendor(&app, &["--out", path(&dir.path().join("copies"))]);
    // This application has a recorder of its own.
    let node_ab = table(&said, "[dependencies]")[1];
    let both = format!("{node_ab}\n{}", node_ab.replace("node-ab", "poll-probe"));
    add_tables(&app, &said.replace(node_ab, &both));
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet"])
        .current_dir(&app)
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("application"),
        )
        .output()
        .expect("cargo runs, since it runs this");
    assert!(output.status.success(), "{}", text(&output.stderr));
    // These are the sites connection, swarm, muxer and task.
    assert_eq!(text(&output.stdout), "{0, 1, 2, 3}\n");
}

#[test]
fn of_two_crates_with_the_same_site_the_first_is_grafted_and_the_other_is_named() {
    let dir = folder();
    let upstream = upstream_manifest();
    let app = application(upstream.parent().expect("it is in a folder"), dir.path());
    let out = dir.path().join("copies");
    let said = vendor(&app, &["--out", path(&out)]);
    for (left, kept) in [("h2", "libp2p-swarm"), ("noq", "quinn")] {
        let ending = format!("as {kept} has, so their records would be mixed");
        let names_both =
            |line: &str| line.trim().starts_with(&format!("{left} ")) && line.ends_with(&ending);
        assert!(said.lines().any(names_both), "{left}: {said}");
    }
    assert!(
        table(&said, "[patch.crates-io]")
            .iter()
            .all(|line| !line.contains("noq-"))
    );
    assert!(said.contains("path = \"../copies/yamux-0.14.1\""), "{said}");
    let copies = fs::read_dir(&out).expect("it was written").count();
    assert_eq!(
        copies, 8,
        "libp2p-swarm, yamux, quinn, iroh-gossip; poll-probe, node-ab and the two that it needs"
    );

    let used = ["vendor", "--for", path(&app), "--out", path(&out)];
    assert!(complaint(&used, 2).contains("is not an empty folder"));
    let source = copy(&pristine_source("yamux"), dir.path());
    let probe = out.join("poll-probe");
    printed(&["apply", path(&source.dir), "--probe", path(&probe)]);
    let manifest = source.read("Cargo.toml").expect("it is there");
    assert!(
        manifest.contains("path = \"../copies/poll-probe\""),
        "{manifest}"
    );
}

#[test]
fn what_is_no_application_with_such_crates_is_refused_and_nothing_is_written() {
    let dir = folder();
    let (app, shown) = (dir.path().join("app"), dir.path().join("app"));
    let refused = |part: &str, more: &[&str]| {
        let said = complaint(&[&["vendor", "--for", path(&shown)], more].concat(), 2);
        assert!(said.contains(part), "{said}");
    };
    refused("not a folder", &[]);
    fs::create_dir(&app).expect("the folder is ours");
    refused("could not find `Cargo.toml`", &[]);
    let manifest =
        "[workspace]\n[package]\nname = \"a\"\nversion = \"0.0.0\"\n[lib]\npath = \"a.rs\"\n";
    fs::write(app.join("Cargo.toml"), manifest).expect("the folder is ours");
    fs::write(app.join("a.rs"), "").expect("the folder is ours");
    refused("Cargo.lock", &[]);
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.0.0\"\n";
    fs::write(app.join("Cargo.lock"), lock).expect("the folder is ours");
    refused(
        "names none of the crates that can be grafted: libp2p-swarm, yamux",
        &[],
    );
    let output = run(&["vendor"]);
    assert!(text(&output.stderr).contains("--for"));
    fs::remove_dir_all(&app).expect("the folder is ours");
    let upstream = upstream_manifest();
    application(upstream.parent().expect("it is in a folder"), dir.path());
    refused("is not an empty folder", &["--out", path(&app)]);
    refused(
        "the folder around it does not exist",
        &["--out", "/nowhere/at/all"],
    );
    assert_eq!(fs::read_dir(dir.path()).expect("it is ours").count(), 1);
    assert!(!app.join("grafted").exists());
    let source = copy(&pristine_source("yamux"), dir.path());
    let apply = ["apply", path(&source.dir), "--probe", "/nowhere"];
    assert!(complaint(&apply, 2).contains("no package poll-probe in it"));
}
