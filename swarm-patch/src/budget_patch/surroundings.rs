//! What a change needs outside of the function that it bounds.

use std::path::Path;

use anyhow::{Result, bail};

use super::shared::{MANIFEST, repository, text_before};
use crate::{
    crate_source::CrateSource,
    graft::Graft,
    insertion::Insertion,
    locate::FoundFunction,
    outer::Spawned,
    sites::SiteSpec,
    stacks::{LIBP2P, sites_of},
};

/// Makes the tasks of connections note when their polls begin.
pub(super) fn time_polls(
    spawned: &Spawned<'_>,
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    patch: &mut Graft,
) {
    let module = Path::new(&function.file.path)
        .file_stem()
        .unwrap_or_default();
    let wrap = spawned.within(&format!("{}::timed(", module.to_string_lossy()));
    add(
        patch,
        spec,
        (&spawned.file().path, &spawned.file().text),
        wrap.into(),
    );
}

/// Gives a crate without tokio an optional dependency on it.
pub(super) fn depend_on_tokio(
    source: &CrateSource,
    manifest: &str,
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
    let mut lines = text_before(before, before, &dependency);
    lines.extend(text_before(end + 1, end + 1, feature));
    add(patch, spec_of(source), (MANIFEST, &text), lines);
    Ok(())
}

/// The entries of the changelog, which a repository may have above the crate.
pub(super) fn changelog(source: &CrateSource, news: &[String], patch: &mut Graft) -> Result<()> {
    let has = |path: &&str| source.dir.join(path).is_file();
    let above = source.checksum.is_none().then_some("../CHANGELOG.md");
    let Some(path) = ["CHANGELOG.md"].into_iter().chain(above).find(has) else {
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
    let lines = text_before(first + 1, first + 1, &entries);
    add(patch, spec_of(source), (path, &text), lines);
    Ok(())
}

/// One of the crate's sites, as a patch has to be of one.
fn spec_of(source: &CrateSource) -> &'static SiteSpec {
    sites_of(&source.name).next().unwrap_or(&LIBP2P.sites[0])
}

fn add(patch: &mut Graft, spec: &SiteSpec, file: (&str, &str), lines: Vec<Insertion>) {
    for line in lines {
        patch.add_to(spec, file, line);
    }
}
