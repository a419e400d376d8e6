//! What a change needs outside of the function that it bounds.

use std::path::Path;

use anyhow::{Result, bail};

use super::spawned::Spawned;
use crate::{
    crate_source::CrateSource, graft::Graft, locate::FoundFunction, sites::SiteSpec,
    stacks::sites_of,
};

/// The file that cargo builds a crate with.
pub const MANIFEST: &str = "Cargo.toml";

/// Upstream's repository of a package.
pub fn repository(package: &str) -> &'static str {
    match package {
        "yamux" => "https://github.com/libp2p/rust-yamux",
        _ => "https://github.com/libp2p/rust-libp2p",
    }
}

/// Makes the tasks of connections note when their polls begin.
pub(super) fn time_polls(
    spawned: &Spawned<'_>,
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    patch: &mut Graft,
) {
    let module = Path::new(&function.file.path).file_stem();
    let module = module.unwrap_or_default().to_string_lossy();
    for (file, insertion) in spawned.within(&format!("{module}::timed(")) {
        patch.add(spec, file.named(), vec![insertion]);
    }
}

/// Gives a crate without tokio an optional dependency on it.
pub(super) fn depend_on_tokio(
    source: &CrateSource,
    manifest: &str,
    spec: &SiteSpec,
    patch: &mut Graft,
) -> Result<()> {
    const TOKIO: &str =
        "version = \"1.44\", default-features = false, features = [\"rt\"], optional = true";
    let text = source.read(manifest)?;
    let line_of = |start: &str| text.lines().position(|line| line.starts_with(start));
    let (Some(end), None) = (line_of("[dev-dependencies"), line_of("[features]")) else {
        bail!(
            "{}, {manifest}: looked for dependencies before dev-dependencies and no features",
            source.id()
        );
    };
    let feature = "[features]\n# A poll of a connection that stops early is woken by tokio.\ntokio = [\"dep:tokio\"]\n\n";
    let (before, dependency) = match line_of("[dependencies]") {
        // Before the empty line.
        Some(_) => (end, format!("tokio = {{ {TOKIO} }}\n")),
        None => (
            end + 1,
            format!("[dependencies.tokio]\n{}\n\n", TOKIO.replace(", ", "\n")),
        ),
    };
    patch.add_lines(spec, (MANIFEST, &text), (before, before), &dependency);
    patch.add_lines(spec, (MANIFEST, &text), (end + 1, end + 1), feature);
    Ok(())
}

/// The entries of the changelog, which a repository may have above the crate.
pub(super) fn changelog(source: &CrateSource, news: &[String], patch: &mut Graft) -> Result<()> {
    let has = |path: &&str| source.dir.join(path).is_file();
    let above = source.checksum.is_none().then_some("../CHANGELOG.md");
    let path = ["CHANGELOG.md"].into_iter().chain(above).find(has);
    // A patch is of some site.
    let (Some(path), Some(spec)) = (path, sites_of(&source.name).next()) else {
        return Ok(());
    };
    let text = source.read(path)?;
    let Some(first) = text.lines().position(|line| line.starts_with("- ")) else {
        return Ok(());
    };
    // One repository separates entries by an empty line, the other does not.
    let end = if source.name == "yamux" { "" } else { "\n" };
    let repository = repository(&source.name);
    let entry =
        |news: &String| format!("- {news}\n  See [PR XXXX]({repository}/pull/XXXX).\n{end}");
    let entries: String = news.iter().map(entry).collect();
    patch.add_lines(spec, (path, &text), (first + 1, first + 1), &entries);
    Ok(())
}
