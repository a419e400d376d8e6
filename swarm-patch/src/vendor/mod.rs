//! Gives an application grafted copies of its crates with sites, in the versions that its lock file names.
//!
//! [`application`] reads the application's manifests and lock file. [`lock_changes`] asks cargo whether it would use the
//! copies, and what else would change. [`packages`] copies the packages of this workspace that the grafted crates and the
//! application depend on.

mod application;
mod lock_changes;
mod packages;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::Package;
use fs_err as fs;
use tempfile::TempDir;

pub use self::application::Application;
use self::lock_changes::Trial;
use self::packages::{COPIED, NODE_AB};
use crate::crate_dir::CrateDir;
use crate::source_tree::{self, Grafted, relative};
use crate::stacks::{LIBP2P, sites_of};
use crate::subject::source;
use crate::tables::levels_table;

fn folder_around(path: &Path) -> Result<&Path> {
    path.parent()
        .with_context(|| format!("{}: no folder around it", path.display()))
}

/// The name of the folder of a crate's copy.
fn folder_name(source: &CrateDir) -> String {
    format!("{}-{}", source.name, source.version)
}

/// Grafts copies of the application's crates in the new folder `out`, and copies the packages that the application needs.
/// Nothing is written unless cargo would use all of the copies. The application's files are only read. Returns the text for
/// the user.
pub fn vendor(app: &Application, out: &Path) -> Result<String> {
    let around = folder_around(out)?;
    let stage = TempDir::with_prefix_in(".grafted-", around)?;
    let copies = fs::canonicalize(stage.path())?.join("all");
    fs::create_dir(&copies)?;
    packages::copy_packages(&COPIED, &copies)?;
    let (grafted, left) = graft(app, &copies, out)?;
    if grafted.is_empty() {
        bail!("none of its crates can be grafted: {}", left.join("; "));
    }
    let changes = Trial::new(app, &grafted, &copies, out)?.changes()?;
    let replaced = changes.iter().filter(|change| change.replaces()).count();
    let lines: Vec<String> = changes.iter().map(|change| change.line.clone()).collect();
    let (table, replaces) = app.table(&grafted, out)?;
    fs::rename(&copies, out)?;

    let list = |head: &str, lines: &[String]| match lines {
        [] => String::new(),
        lines => format!("{head}:\n  {}\n\n", lines.join("\n  ")),
    };
    let manifest = app.root().join("Cargo.toml");
    let heading = match replaces {
        true => format!(
            "Replace the table [patch.crates-io] of {} by",
            manifest.display()
        ),
        false => format!("Add to {}", manifest.display()),
    };
    let node_ab = relative(&app.dir, &out.join(NODE_AB));
    let sites = grafted
        .into_iter()
        .map(|grafted| (grafted.source.id(), grafted.sites));
    Ok(format!(
        "{}\n{}Written: {}\n\n{heading}:\n\n{table}\n\
         Add to the application's own Cargo.toml:\n\n[dependencies]\n\
         {NODE_AB} = {{ path = {node_ab:?} }}\n\n\
         With these lines cargo uses all of these copies, as `cargo update --workspace --dry-run` says.\n\
         Packages of the application that get another version: {replaced}.\n{}",
        levels_table(&sites.collect::<Vec<_>>()),
        list("Not grafted", &left),
        out.display(),
        list("All other changes of Cargo.lock are then", &lines).trim_end(),
    ))
}

/// Grafts copies in the folder `copies`, which will be at `out`. Returns them, and why other crates stay as they are.
fn graft(app: &Application, copies: &Path, out: &Path) -> Result<(Vec<Grafted>, Vec<String>)> {
    let (mut grafted, mut left) = (Vec::new(), Vec::new());
    // A record names its site by number, so two crates must not have a number in common.
    let mut taken: BTreeMap<u8, &str> = BTreeMap::new();
    for package in app.with_sites() {
        let original = CrateDir::from_package(package)?;
        let (id, name) = (original.id(), package.name.as_str());
        let mut known =
            sites_of(name).filter_map(|site| Some((site.name, *taken.get(&site.number)?)));
        if let Some((site, other)) = known.find(|(_, owner)| *owner != name) {
            left.push(format!(
                "{id}: it has the site {site}, as {other} has, so their records would be mixed"
            ));
            continue;
        }
        if let Some(reason) = elsewhere(package, &original, out) {
            left.push(format!("{id}: {reason}"));
        } else {
            let copy = source::copy_crate(&original, &copies.join(folder_name(&original)))?;
            match source_tree::grafted(&copy, &copies.join("poll-probe")) {
                Ok(graft) => {
                    for (path, text) in &graft.files {
                        fs::write(path, text)?;
                    }
                    grafted.push(graft);
                }
                Err(error) => {
                    fs::remove_dir_all(&copy.dir)?;
                    left.push(format!("{id}: {error:#}"));
                    continue;
                }
            }
        }
        taken.extend(sites_of(name).map(|site| (site.number, name)));
    }
    Ok((grafted, left))
}

/// The reason if `[patch.crates-io]` cannot replace a package.
fn elsewhere(package: &Package, original: &CrateDir, out: &Path) -> Option<String> {
    match &package.source {
        Some(source) if source.is_crates_io() => None,
        Some(source) => Some(format!(
            "it comes from {source}, and only crates of crates.io are grafted. Depend on a checkout of it by path"
        )),
        None if !LIBP2P.packages.contains(&&*original.name) => Some(
            "it comes from a folder, and only crates of libp2p are grafted in a folder".to_owned(),
        ),
        None => Some(format!(
            "it comes from a folder. Graft it there: swarm-patch apply {} --probe {}",
            original.dir.display(),
            out.join("poll-probe").display()
        )),
    }
}
