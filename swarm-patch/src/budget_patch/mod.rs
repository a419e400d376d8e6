//! Patches for upstream: a budget or a remedy without the probe, as a change that a maintainer could take.

mod limits;
mod surroundings;
mod unit_test;

use anyhow::Result;
use run_format::{Budget, Budgets, Limit, Wake};

use self::limits::LimitLines;
use crate::crate_source::CrateSource;
use crate::diff::{Layout, below};
use crate::error::Refused;
use crate::graft::{Graft, GraftedFile};
use crate::idents::refuse_taken_name;
use crate::leave;
use crate::locate::{FoundFunction, ParsedCrate, bytes};
use crate::remedies::{RemedySpec, Way, remedies_of};
use crate::sites::{LoopShape, SiteSpec};
use crate::stacks::{LIBP2P, sites_of};

pub use self::surroundings::{MANIFEST, repository};

/// The change that gives `source` the budgets of its sites. `manifest` is the path of the crate's manifest, because a crate
/// from the registry has two.
pub fn files(source: &CrateSource, budgets: &Budgets, manifest: &str) -> Result<Vec<GraftedFile>> {
    files_with(source, budgets, manifest, "")
}

/// The same change for a source that is grafted afterwards. The graft recognises the variables of the budgets by their names.
pub(crate) fn files_to_measure(
    source: &CrateSource,
    budgets: &Budgets,
) -> Result<Vec<GraftedFile>> {
    files_with(source, budgets, MANIFEST, leave::INSERTED)
}

fn files_with(
    source: &CrateSource,
    budgets: &Budgets,
    manifest: &str,
    prefix: &str,
) -> Result<Vec<GraftedFile>> {
    let parsed = ParsedCrate::read(source)?;
    let mut patch = Graft::default();
    let mut news = Vec::new();
    for spec in sites_of(&source.name) {
        let Some(budget) = budget_at(spec, budgets) else {
            continue;
        };
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
    for (spec, remedy, way) in remedies(&source.name, budgets) {
        let text = source.read(remedy.file)?;
        let occurrences = |old: &str| text.matches(old).count();
        let mut replaced = way.replacements.iter().map(|(old, _)| *old);
        if let Some(old) = replaced.find(|old| occurrences(old) != 1) {
            let place = format!("{}, {}, -", source.id(), remedy.file);
            let looked_for = format!("one {:?}", old.trim());
            return Err(Refused::new(&place, looked_for, occurrences(old)).into());
        }
        patch.replace((remedy.file, &text), way);
        let end = text.lines().count() + 1;
        patch.add_lines(spec, (remedy.file, &text), (end, end), remedy.unit_test);
        news.push(way.news.to_owned());
    }
    surroundings::changelog(source, &news, &mut patch)?;
    Ok(patch.files)
}

/// The change as a diff with `prefix` before its paths, after a line that says which repository it belongs to.
pub fn diff(source: &CrateSource, budgets: &Budgets, prefix: &str) -> Result<String> {
    // In a crate of the registry, cargo has written a manifest of its own, and has kept the repository's manifest as `.orig`.
    let original = format!("{MANIFEST}.orig");
    let is_repository = prefix == Layout::Repository.prefix(source);
    let manifest = match is_repository && source.dir.join(&original).is_file() {
        true => &original,
        false => MANIFEST,
    };
    let changes = below(prefix, &files(source, budgets, manifest)?);
    let (repository, id) = (repository(&source.name), source.id());
    Ok(format!("# {budgets}, for {repository} ({id})\n{changes}"))
}

/// The packages that a change for these budgets touches.
pub fn packages(budgets: &Budgets) -> Vec<&'static str> {
    let mut packages = LIBP2P.packages.to_vec();
    let is_changed = |spec: &SiteSpec| {
        budget_at(spec, budgets).is_some() && !matches!(spec.shape, LoopShape::Passes(_))
    };
    packages.retain(|package| {
        sites_of(package).any(is_changed) || !remedies(package, budgets).is_empty()
    });
    packages
}

/// The remedies of a package that the budgets name, each with its site and with the way that the budgets ask for.
fn remedies(
    package: &str,
    budgets: &Budgets,
) -> Vec<(&'static SiteSpec, &'static RemedySpec, &'static Way)> {
    let with_way = |spec, remedy: &'static RemedySpec| {
        let mut asked = budgets.remedies();
        let (_, name) = asked.find(|(asked, _)| asked.name() == remedy.name)?;
        let way = remedy.ways.iter().find(|way| way.name == name)?;
        Some((spec, remedy, way))
    };
    sites_of(package)
        .flat_map(|spec| remedies_of(spec).filter_map(move |remedy| with_way(spec, remedy)))
        .collect()
}

fn is_deferred(budget: Budget) -> bool {
    // The wake of `coop` is tokio's own.
    budget.wake == Wake::Deferred && budget.limit != Limit::Coop
}

fn budget_at(spec: &SiteSpec, budgets: &Budgets) -> Option<Budget> {
    budgets.at(spec.site())
}

/// Adds the lines that end a poll.
fn add_limit(
    function: &FoundFunction<'_>,
    spec: &SiteSpec,
    limit: &LimitLines,
    patch: &mut Graft,
) -> Result<(), Refused> {
    let the_loop = function.the_loop()?;
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
        patch.add_lines(spec, function.file.named(), (line, line), text);
    }
    Ok(())
}
