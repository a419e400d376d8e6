//! Sources whose functions with sites were rewritten. Each shape is a change to the pristine source. It must have the levels
//! that are written beside it, compile with the graft, and pass upstream's own tests, and the probe must count as many polls
//! of tasks as `tokio_metrics`.

mod connection;
mod muxer;
mod swarm;
mod task;

use std::path::Path;

use crate::patches::cargo_test;
use crate::scratch::{copy, folder, pristine_source};
use swarm_patch::crate_dir::CrateDir;
use swarm_patch::graft::graft;

/// A function, rewritten.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) rewrite: fn(&CrateDir),
    pub(crate) levels: Levels,
}

/// The levels of a function's site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Levels {
    /// Durations, iterations and children are recorded, and budgets bound the function.
    All,
    /// The same are recorded, but no loop can be left without losing something.
    Unbounded,
    /// Only durations are recorded.
    Outer,
}

impl Levels {
    fn find(source: &CrateDir, site: &str) -> Levels {
        let sites = graft(source)
            .expect("it has the polls of connections")
            .sites;
        let levels = sites
            .into_iter()
            .find(|levels| levels.spec.name == site)
            .expect("it is a site");
        println!("{site}: {levels:?}");
        assert_eq!(levels.outer.reason(), None);
        match (levels.inner.reason(), levels.budget.reason()) {
            (None, None) => Levels::All,
            (None, Some(_)) => Levels::Unbounded,
            (Some(_), _) => Levels::Outer,
        }
    }
}

/// The shapes of one site.
struct Corpus {
    site: &'static str,
    package: &'static str,
    shapes: &'static [Shape],
}

const CORPORA: [Corpus; 4] = [
    Corpus {
        site: "connection",
        package: "libp2p-swarm",
        shapes: &connection::SHAPES,
    },
    Corpus {
        site: "task",
        package: "libp2p-swarm",
        shapes: &task::SHAPES,
    },
    Corpus {
        site: "swarm",
        package: "libp2p-swarm",
        shapes: &swarm::SHAPES,
    },
    Corpus {
        site: "muxer",
        package: "yamux",
        shapes: &muxer::SHAPES,
    },
];

#[test]
fn each_shape_has_the_levels_that_it_is_said_to_have() {
    for corpus in &CORPORA {
        let pristine = pristine_source(corpus.package);
        for shape in corpus.shapes {
            let dir = folder();
            let source = copy(&pristine, dir.path());
            (shape.rewrite)(&source);
            let levels = Levels::find(&source, corpus.site);
            assert_eq!(levels, shape.levels, "{}: {}", corpus.site, shape.name);
        }
    }
}

/// One shape of each site at a time, which makes as many builds as the site with the most shapes has.
#[test]
#[ignore = "exhaustive: compiles dozens of subjects"]
fn exhaustive_each_shape_passes_the_tests_of_upstream_and_the_count_of_tokio_metrics() {
    let most = CORPORA.iter().map(|corpus| corpus.shapes.len()).max();
    for build in 0..most.unwrap_or(0) {
        let dir = folder();
        let mut names = Vec::new();
        let mut are_bounded = true;
        let crates = ["libp2p-swarm", "yamux"].map(|package| {
            let source = copy(&pristine_source(package), dir.path());
            let named = dir.path().join(package);
            std::fs::rename(&source.dir, &named).expect("the folder is ours");
            CrateDir::new(package, &source.version, named).expect("it is there")
        });
        for corpus in &CORPORA {
            let source = crates.iter().find(|source| source.name == corpus.package);
            if let Some(shape) = corpus.shapes.get(build) {
                (shape.rewrite)(source.expect("it is one of the two"));
                names.push(format!("{}: {}", corpus.site, shape.name));
                are_bounded &= shape.levels == Levels::All;
            }
        }
        let tried = names.join(", ");
        let tests = "--locked --package libp2p-swarm --package yamux --package swarm-patch --lib --test grafted";
        let options = "-- --skip passes_under_budgets --skip in_force::";
        let mut arguments: Vec<&str> = tests.split(' ').chain(options.split(' ')).collect();
        if !are_bounded {
            // These tests expect the smallest budgets to be spent.
            arguments.extend(["--skip", "no_lost_byte::"]);
        }
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        cargo_test(&arguments, &workspace, dir.path(), &tried, None);
        println!("{tried}: passed");
    }
}
