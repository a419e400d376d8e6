//! Patches for upstream: a budget or a remedy without the probe, as a change that a maintainer could take.

mod limits;
mod surroundings;
mod unit_test;

use anyhow::Result;
use run_format::{Budget, Budgets, Limit, Wake};
use syn::{Expr, ExprLoop, Stmt};

use self::limits::LimitLines;
use crate::crate_dir::CrateDir;
use crate::diff::{DiffRoot, crate_diff};
use crate::error::Refused;
use crate::graft::{Graft, GraftedFile};
use crate::idents::refuse_taken_name;
use crate::insertion::{Insertion, LinePlace, Mark};
use crate::locate::{FoundFunction, ParsedCrate, bytes, only_one};
use crate::remedies::{RemedySpec, remedies_of};
use crate::sites::{LoopShape, SiteSpec};
use crate::stacks::{LIBP2P, sites_of};

pub use self::surroundings::{MANIFEST, repository};

/// The change that gives `source` the budgets of its sites. `manifest` is the path of the crate's manifest, because a crate
/// from the registry has two. The names of inserted variables begin with `prefix`.
pub fn files(
    source: &CrateDir,
    budgets: &Budgets,
    manifest: &str,
    prefix: &str,
) -> Result<Vec<GraftedFile>> {
    let parsed = ParsedCrate::read(source)?;
    let mut patch = Graft::default();
    let mut news = Vec::new();
    for spec in sites_of(&source.name) {
        if let Some(budget) = budgets.at(spec.site()) {
            let function = parsed.locate(spec)?;
            let limit = limits::lines(&function, spec, budget, prefix)?;
            let wake = match is_deferred(budget) {
                true => " With tokio, timers and I/O come first.",
                false => "",
            };
            let (path, when) = (spec.function, &limit.when);
            news.push(format!("Let `{path}` yield to the executor {when}.{wake}"));
            add_limit(&function, spec, &limit, &mut patch)?;
            unit_test::add(&function, spec, budget, &limit, &mut patch);
            if let (LoopShape::Task { spawned_in }, Limit::Time(_)) = (spec.shape, budget.limit) {
                surroundings::time_polls(&parsed, spawned_in, &function, spec, &mut patch)?;
            }
            if spec.package == "yamux" && (budget.limit == Limit::Coop || is_deferred(budget)) {
                surroundings::depend_on_tokio(source, manifest, spec, &mut patch)?;
            }
        }
        for remedy in remedies_of(spec) {
            if is_asked(remedy, budgets) {
                add_remedy(source, spec, remedy, &mut patch)?;
                news.push(remedy.news.to_owned());
            }
        }
    }
    surroundings::changelog(source, &news, &mut patch)?;
    Ok(patch.files)
}

/// The change as a diff with `prefix` before its paths, after a line that says which repository it belongs to.
pub fn diff(source: &CrateDir, budgets: &Budgets, prefix: &str) -> Result<String> {
    // In a crate of the registry, cargo has written a manifest of its own, and has kept the repository's manifest as `.orig`.
    let original = format!("{MANIFEST}.orig");
    let is_repository = prefix == DiffRoot::Repository.prefix(source);
    let manifest = match is_repository && source.dir.join(&original).is_file() {
        true => &original,
        false => MANIFEST,
    };
    let changes = crate_diff(prefix, &files(source, budgets, manifest, "")?);
    let (url, id) = (repository(&source.name), source.id());
    Ok(format!("# {budgets}, for {url} ({id})\n{changes}"))
}

/// The packages that a change for these budgets touches.
pub fn packages(budgets: &Budgets) -> Vec<&'static str> {
    let mut packages = LIBP2P.packages.to_vec();
    let is_bounded = |spec: &SiteSpec| {
        budgets.at(spec.site()).is_some() && !matches!(spec.shape, LoopShape::BoundedInside(_))
    };
    let has_remedy = |spec: &SiteSpec| remedies_of(spec).any(|remedy| is_asked(remedy, budgets));
    packages.retain(|package| sites_of(package).any(|spec| is_bounded(spec) || has_remedy(spec)));
    packages
}

fn is_asked(spec: &RemedySpec, budgets: &Budgets) -> bool {
    budgets.remedies().any(|remedy| remedy.name() == spec.name)
}

fn is_deferred(budget: Budget) -> bool {
    // The wake of `coop` is tokio's own.
    budget.wake == Wake::Deferred && budget.limit != Limit::Coop
}

impl Graft {
    /// Adds lines before the line with the number `before`, with the indentation of that line.
    fn add_lines(&mut self, spec: &SiteSpec, file: (&str, &str), before: usize, text: &str) {
        let place = LinePlace {
            before,
            like: before,
        };
        let (_, source) = file;
        self.add(
            spec,
            file,
            Insertion::lines(source, place, Mark::Budget, text),
        );
    }
}

/// Adds the lines that end a poll.
fn add_limit(
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    limit: &LimitLines,
    patch: &mut Graft,
) -> Result<(), Refused> {
    let the_loop = only_loop(function)?;
    for variable in limit.variables() {
        refuse_taken_name(function, variable)?;
    }
    // The constant goes before the item at the top level that is the function or contains it.
    let name = bytes(&function.signature.ident).start;
    let mut items = function.file.tree.items.iter().map(bytes);
    let item = items.find(|item| item.contains(&name));
    let loop_brace = bytes(&the_loop.body.brace_token.span.open());
    for (byte, after, text) in [
        (item.map_or(name, |item| item.start), 0, &limit.item),
        (bytes(the_loop).start, 0, &limit.before_loop),
        (loop_brace.start, 1, &limit.in_loop),
    ] {
        let line = function.line_number(byte) + after;
        patch.add_lines(spec, function.file.named(), line, text);
    }
    Ok(())
}

/// The only loop among the statements of the function.
fn only_loop<'a>(function: &FoundFunction<'a>) -> Result<&'a ExprLoop, Refused> {
    let statements = function.body.stmts.iter();
    let loops = statements.filter_map(|statement| match statement {
        Stmt::Expr(Expr::Loop(the_loop), _) => Some(the_loop),
        _ => None,
    });
    let looked_for = "one `loop` among the statements of the function";
    only_one(&function.place, looked_for, loops.collect(), |found| {
        found.loop_token.span
    })
}

/// Puts the new way of a remedy in the place of upstream's way, and adds the remedy's unit test.
fn add_remedy(
    source: &CrateDir,
    spec: &SiteSpec,
    remedy: &RemedySpec,
    patch: &mut Graft,
) -> Result<()> {
    let text = source.read(remedy.file)?;
    let occurrences = |old: &str| text.matches(old).count();
    let mut replaced = remedy.replacements.iter().map(|(old, _)| *old);
    if let Some(old) = replaced.find(|old| occurrences(old) != 1) {
        let place = format!("{}, {}, -", source.id(), remedy.file);
        let looked_for = format!("one {:?}", old.trim());
        return Err(Refused::new(&place, looked_for, occurrences(old)).into());
    }
    let file = (remedy.file, &*text);
    patch.file(file).replacements.extend(remedy.replacements);
    let end = text.lines().count() + 1;
    patch.add_lines(spec, file, end, remedy.unit_test);
    Ok(())
}
