//! Budgets as patches for upstream: each applies, compiles, passes upstream's tests and its own, and loses nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::scratch::{cargo_check, copy, folder, git_apply, pristine_source, pristine_sources};
use run_format::{Budgets, Remedy};
use swarm_patch::budget_patch::{self, MANIFEST};
use swarm_patch::crate_dir::CrateDir;
use swarm_patch::diff::{DiffRoot, crate_diff};
use swarm_patch::edits::Edits;
use swarm_patch::graft::graft;
use swarm_patch::package::{CHANGED, upstream_manifest};
use swarm_patch::source_tree;

fn budgets(text: &str) -> Budgets {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Everything that is measured: one limit at one site or at two.
fn candidates() -> Vec<String> {
    const LIMITS: &str = "1 2 3 4 6 8 16 32 10us 25us 50us 100us 200us";
    let mut limits = vec!["coop".to_owned()];
    for limit in LIMITS.split(' ') {
        limits.extend([limit.to_owned(), format!("{limit}/deferred")]);
    }
    let at = |limit: &String| {
        let sites = ["connection", "muxer", "task"].map(|site| format!("{site}={limit}"));
        let pair = format!("{},{}", sites[1], sites[2]);
        [&sites[..], &[pair]].concat()
    };
    limits.iter().flat_map(at).collect()
}

/// Whether a candidate is the first one with its kind of limit. Other numbers make no difference to the code.
fn is_first_of_kind(text: &str) -> bool {
    ["=1", "=10us", "=coop"].iter().any(|limit| {
        text.contains(&format!("{limit},"))
            || text.contains(&format!("{limit}/"))
            || text.ends_with(limit)
    })
}

/// The patches of crates, as diffs for the folder that has copies of them.
fn diff(sources: &[CrateDir], text: &str) -> String {
    let one = |source: &CrateDir| {
        let files = budget_patch::files(source, &budgets(text), MANIFEST, "")
            .unwrap_or_else(|error| panic!("{text}: {error:#}"));
        assert_eq!(
            files.is_empty(),
            !budget_patch::packages(&budgets(text)).contains(&source.name.as_str()),
            "{text}"
        );
        crate_diff(&DiffRoot::Registry.prefix(source), &files)
    };
    sources.iter().map(one).collect()
}

#[test]
fn every_budget_applies_and_says_nothing_of_this_project() {
    let dir = folder();
    let sources = pristine_sources();
    for source in &sources {
        copy(source, dir.path());
    }
    for text in candidates() {
        let diff = diff(&sources, &text);
        git_apply(dir.path(), &diff, &["--check"])
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        let added: Vec<&str> = diff.lines().filter(|line| line.starts_with('+')).collect();
        assert!(
            added
                .iter()
                .any(|line| line.contains("_yields_when_its_budget_is_spent")),
            "{text}"
        );
        let defers = diff.contains("tokio::task::yield_now()");
        assert_eq!(defers, text.contains("/deferred"), "{text}");
        let removed = diff
            .lines()
            .filter(|line| line.starts_with('-') && !line.starts_with("---"));
        // The spawned future gets a wrapper, which changes two lines.
        let wrapped = match text.contains("task") && text.contains("us") {
            true => 2,
            false => 0,
        };
        assert_eq!(removed.count(), wrapped, "{text}");
        for word in [
            "probe",
            "swarm-patch",
            "benchmark",
            "variant",
            "ASSERT",
            "WORK",
            "/*",
        ] {
            assert!(
                !added.iter().any(|line| line.contains(word)),
                "{text}: {word}"
            );
        }
    }
}

#[test]
fn every_remedy_applies_and_brings_its_test() {
    let dir = folder();
    let sources = pristine_sources();
    for source in &sources {
        copy(source, dir.path());
    }
    for spec in swarm_patch::remedies::REMEDIES {
        let remedy: Remedy = spec.name.parse().expect("both have it");
        assert_eq!(spec.number, remedy.number(), "{}", spec.name);
        let asked = spec.rewrites.iter().map(|rewrite| rewrite.before);
        let by_number = format!("probe.remedy({})", spec.number);
        for code in asked.filter(|code| code.contains("probe.remedy(")) {
            assert!(code.contains(&by_number), "{code}");
        }
        for bound in ["", ",muxer=1/deferred"] {
            let text = format!("{}={}{bound}", remedy.name(), remedy.amount());
            let diff = diff(&sources, &text);
            git_apply(dir.path(), &diff, &["--check"])
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            let mut added = diff.lines().filter(|line| line.starts_with('+'));
            assert!(added.any(|line| line.contains("#[test]")), "{text}");
            assert!(!diff.contains("poll_probe"), "{text}");
        }
    }
    assert_eq!(swarm_patch::remedies::REMEDIES.len(), Remedy::ALL.len());
}

#[test]
fn limits_and_news_are_those_of_the_budget() {
    for (text, part) in [
        ("connection=8", "const MAX_ITERATIONS_PER_POLL: usize = 8;"),
        (
            "connection=50us",
            "const MAX_TIME_PER_POLL: Duration = Duration::from_micros(50);",
        ),
        ("connection=coop", "if tokio::task::coop::poll_proceed(cx)"),
        ("task=3", "const MAX_EVENTS_BEFORE_YIELD: usize = 3;"),
        ("task=2ms", "std::time::Duration::from_millis(2);"),
        ("task=coop", "tokio::task::coop::consume_budget().await;"),
        ("muxer=1500ns", "std::time::Duration::from_nanos(1500);"),
        ("muxer=coop", "+tokio = [\"dep:tokio\"]"),
        (
            "task=3",
            "+- Let `new_for_established_connection` yield to the executor after 3 events.",
        ),
        (
            "connection=1/deferred",
            "to the executor after 1 iteration. With tokio, timers and I/O come first.",
        ),
    ] {
        let diff = diff(&pristine_sources(), text);
        assert!(diff.contains(part), "{text}:\n{diff}");
    }
}

#[test]
fn a_changelog_and_a_manifest_of_the_repository_are_changed_where_they_are() {
    let dir = folder();
    let source = copy(&pristine_source("yamux"), dir.path());
    fs::rename(&source.dir, dir.path().join("yamux")).expect("the folder is ours");
    fs::write(
        dir.path().join("CHANGELOG.md"),
        "# 0.1.0\n\n- One.\n- Two.\n",
    )
    .expect("the folder is ours");
    let source = CrateDir::new("yamux", &source.version, dir.path().join("yamux"));
    let source = source.expect("it is there");
    let files = budget_patch::files(&source, &budgets("muxer=coop"), "Cargo.toml.orig", "");
    let prefix = DiffRoot::Repository.prefix(&source);
    let diff = crate_diff(&prefix, &files.expect("it is as expected"));
    fs::rename(
        source.dir.join("Cargo.toml.orig"),
        source.dir.join(MANIFEST),
    )
    .expect("the folder is ours");
    git_apply(dir.path(), &diff, &[]).expect("it applies");
    let news = fs::read_to_string(dir.path().join("CHANGELOG.md")).expect("it is there");
    let entry = "- Let `Active::poll` yield to the executor when tokio's cooperative budget is spent.\n  \
                 See [PR XXXX](https://github.com/libp2p/rust-yamux/pull/XXXX).\n";
    assert_eq!(news, format!("# 0.1.0\n\n{entry}- One.\n- Two.\n"));
    let manifest = source.read(MANIFEST).expect("it is there");
    let manifest: toml_edit::DocumentMut = manifest.parse().expect("a manifest");
    assert_eq!(
        manifest["dependencies"]["tokio"]["optional"].as_bool(),
        Some(true)
    );
    assert_eq!(manifest["features"]["tokio"][0].as_str(), Some("dep:tokio"));
}

#[test]
fn patched_sources_keep_all_levels_of_their_sites() {
    for text in candidates()
        .into_iter()
        .filter(|text| is_first_of_kind(text))
    {
        let dir = folder();
        let copies: Vec<_> = pristine_sources()
            .iter()
            .map(|source| copy(source, dir.path()))
            .collect();
        source_tree::patch(&copies, &budgets(&text), &mut Edits::default())
            .expect("it is as expected");
        for source in copies {
            let graft = graft(&source).unwrap_or_else(|error| panic!("{text}: {error:#}"));
            graft
                .require_all()
                .unwrap_or_else(|error| panic!("{text}: {error:#}"));
        }
    }
}

/// A sample of every kind of patch.
#[rustfmt::skip]
const SAMPLES: [&str; 7] = [
    "muxer=1", "muxer=1/deferred", "connection=1/deferred", "task=1", "connection=50us,muxer=50us/deferred,task=50us",
    "flush=32KiB,muxer=1/deferred", "connection=coop,muxer=coop,task=coop",
];

/// Copies of the pristine sources, in folders of their names, with the patch of a budget.
fn patched(dir: &Path, text: &str) -> Vec<CrateDir> {
    let named = |source: CrateDir| {
        let copy = copy(&source, dir);
        let named = dir.join(&source.name);
        fs::rename(&copy.dir, &named).expect("the folder is ours");
        CrateDir::new(&source.name, &source.version, named).expect("it is there")
    };
    let copies: Vec<_> = pristine_sources().into_iter().map(named).collect();
    source_tree::patch(&copies, &budgets(text), &mut Edits::default()).expect("it is as expected");
    copies
}

#[test]
fn a_sample_compiles_without_a_warning() {
    compile_without_a_warning(&SAMPLES[SAMPLES.len() - 1..], &[true]);
}

#[test]
#[ignore = "exhaustive: compiles dozens of subjects"]
fn exhaustive_each_kind_of_patch_compiles_without_a_warning_with_and_without_tokio() {
    let all = candidates();
    let kinds = all.iter().filter(|text| is_first_of_kind(text));
    let texts: Vec<&str> = kinds.map(String::as_str).chain(SAMPLES).collect();
    compile_without_a_warning(&texts, &[true, false]);
}

#[test]
#[ignore = "takes half an hour: CONTRIBUTING.md has the command"]
fn every_candidate_compiles_without_a_warning_with_and_without_tokio() {
    let all = candidates();
    let texts: Vec<&str> = all.iter().map(String::as_str).collect();
    compile_without_a_warning(&texts, &[true, false]);
    println!("{} patches compile", texts.len());
}

fn compile_without_a_warning(patches: &[&str], with_tokio: &[bool]) {
    for text in patches {
        for &with_tokio in with_tokio {
            let dir = folder();
            let copies = patched(dir.path(), text);
            let manifest = copies[1].dir.join(MANIFEST);
            if !with_tokio {
                let with = fs::read_to_string(&manifest).expect("it is there");
                fs::write(manifest, with.replace("default = [\"tokio\"]\n", ""))
                    .expect("it is ours");
            }
            let lock = upstream_manifest().with_file_name("Cargo.lock");
            let said = cargo_check(dir.path(), &lock, &copies, with_tokio, "");
            assert_eq!(said, "", "{text}");
        }
    }
}

/// Tests changed crates. What they print begins with `what` if they fail.
pub(crate) fn cargo_test(
    arguments: &[&str],
    in_folder: &Path,
    changed: &Path,
    what: &str,
    patch: Option<&str>,
) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shapes");
    let output = Command::new(env!("CARGO"))
        .args(["test", "--quiet"])
        .args(arguments)
        .current_dir(in_folder)
        .env(CHANGED, changed)
        .envs(patch.map(|patch| ("PATCH", patch)))
        // Without debug information the programs link sooner.
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo runs, since it runs this");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}\n{said}\n{complained}");
    said
}

/// The patched crates are grafted as well, and the probe shows that the patch bounds the polls.
#[test]
#[ignore = "exhaustive: compiles dozens of subjects"]
fn exhaustive_samples_pass_all_unit_tests_and_lose_nothing() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for text in SAMPLES {
        let dir = folder();
        patched(dir.path(), text);
        let tests = "--locked --package libp2p-swarm --package yamux --features yamux/tokio --lib --package swarm-patch --test grafted";
        let options = "-- --nocapture --skip passes_under_budgets --skip under_the_smallest_budgets --skip in_force:: --skip task_monitor::";
        let arguments: Vec<&str> = tests.split(' ').chain(options.split(' ')).collect();
        let said = cargo_test(&arguments, &workspace, dir.path(), text, Some(text));
        let bounded = |line: &&str| line.starts_with("none ");
        assert_eq!(said.lines().filter(bounded).count(), 2, "{text}: {said}");
        println!("{text}: passed");
    }
}
