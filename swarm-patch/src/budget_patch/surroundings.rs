//! The parts of a patch outside of the function that it bounds.

use std::path::Path;

use anyhow::{Result, bail};
use syn::Expr;
use syn::spanned::Spanned;

use crate::calls::Expressions;
use crate::crate_dir::CrateDir;
use crate::error::Refused;
use crate::graft::Graft;
use crate::insertion::Mark;
use crate::locate::{FoundFunction, ParsedCrate, bytes, only_one};
use crate::sites::SiteSpec;
use crate::stacks::sites_of;

/// The manifest that cargo reads.
pub const MANIFEST: &str = "Cargo.toml";

/// Upstream's repository of a package.
pub fn repository(package: &str) -> &'static str {
    match package {
        "yamux" => "https://github.com/libp2p/rust-yamux",
        _ => "https://github.com/libp2p/rust-libp2p",
    }
}

/// Makes the tasks of connections note when their polls begin: in the function at the path `spawned_in`, the future that is
/// handed to the executor becomes the argument of `timed`. The line breaks stay where `rustfmt` has them.
pub(super) fn time_polls(
    parsed: &ParsedCrate,
    spawned_in: &str,
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    patch: &mut Graft,
) -> Result<(), Refused> {
    let place = parsed.place("src", spawned_in);
    let spawning = only_one(
        &place,
        "one function",
        parsed.functions(spawned_in),
        |found| found.signature.ident.span(),
    )?;
    let spawns: Vec<_> = Expressions::in_block(spawning.body)
        .into_iter()
        .filter_map(|expr| match expr {
            Expr::MethodCall(call) if call.method == "spawn" && call.args.len() == 1 => Some(call),
            _ => None,
        })
        .collect();
    let spawn = only_one(&spawning.place, "one `.spawn(FUTURE)`", spawns, |call| {
        call.span()
    })?;
    let file_stem = Path::new(&function.file.path).file_stem();
    let module = file_stem.unwrap_or_default().to_string_lossy();
    let paren = spawn.paren_token.span;
    for (byte, text) in [
        (bytes(&paren.open()).end, format!("{module}::timed(")),
        (bytes(&paren.close()).start, ")".to_owned()),
    ] {
        let (file, insertion) = spawning.within(byte, Mark::Budget, text);
        patch.add(spec, file.named(), vec![insertion]);
    }
    Ok(())
}

/// Gives a crate without tokio an optional dependency on it.
pub(super) fn depend_on_tokio(
    source: &CrateDir,
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
        // The dependency goes before the empty line that ends the table.
        Some(_) => (end, format!("tokio = {{ {TOKIO} }}\n")),
        None => (
            end + 1,
            format!("[dependencies.tokio]\n{}\n\n", TOKIO.replace(", ", "\n")),
        ),
    };
    patch.add_lines(spec, (MANIFEST, &text), before, &dependency);
    patch.add_lines(spec, (MANIFEST, &text), end + 1, feature);
    Ok(())
}

/// The entries of the changelog, which a repository may have above the crate.
pub(super) fn changelog(source: &CrateDir, news: &[String], patch: &mut Graft) -> Result<()> {
    let has = |path: &&str| source.dir.join(path).is_file();
    let above = source.checksum.is_none().then_some("../CHANGELOG.md");
    let path = ["CHANGELOG.md"].into_iter().chain(above).find(has);
    // Every insertion belongs to a site. For these it is the first site of the crate.
    let (Some(path), Some(spec)) = (path, sites_of(&source.name).next()) else {
        return Ok(());
    };
    let text = source.read(path)?;
    let Some(first) = text.lines().position(|line| line.starts_with("- ")) else {
        return Ok(());
    };
    // The repository of libp2p separates entries by an empty line, and that of yamux does not.
    let end = if source.name == "yamux" { "" } else { "\n" };
    let url = repository(&source.name);
    let entry = |news: &String| format!("- {news}\n  See [PR XXXX]({url}/pull/XXXX).\n{end}");
    let entries: String = news.iter().map(entry).collect();
    patch.add_lines(spec, (path, &text), first + 1, &entries);
    Ok(())
}
