//! The budget alone, as a change that a maintainer could take. It has no probe.

mod limits;
mod spawned;
mod surroundings;
mod unit_test;

use anyhow::Result;
use run_format::{Budget, Budgets, Limit, Wake};

use self::{limits::LimitLines, spawned::Spawned};
use crate::{
    crate_source::CrateSource,
    diff::{Layout, below},
    error::Refused,
    graft::{Graft, GraftedFile},
    idents::refuse_taken_name,
    leave,
    locate::{FoundFunction, ParsedCrate, bytes},
    remedies::{RemedySpec, Way, remedies_of},
    sites::{LoopShape, SiteSpec},
    stacks::{LIBP2P, sites_of},
};

pub use self::surroundings::{MANIFEST, repository};

/// The change that gives `source` the budgets of its sites. `manifest` names the file with the text of its manifest,
/// since a crate from the registry has two.
pub fn files(source: &CrateSource, budgets: &Budgets, manifest: &str) -> Result<Vec<GraftedFile>> {
    files_with(source, budgets, manifest, "")
}

/// The change for a source that is grafted after it. The graft knows the variables of the budgets by their names.
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
            let spawned = Spawned::locate(&parsed, spawned_in)?;
            surroundings::time_polls(&spawned, &function, spec, &mut patch);
        }
        if spec.package == "yamux" && (budget.limit == Limit::Coop || is_deferred(budget)) {
            surroundings::depend_on_tokio(source, manifest, spec, &mut patch)?;
        }
    }
    for (spec, remedy, way) in remedies(&source.name, budgets) {
        let text = source.read(remedy.file)?;
        let number = |old: &str| text.matches(old).count();
        let mut replaced = way.replacements.iter().map(|(old, _)| *old);
        if let Some(old) = replaced.find(|old| number(old) != 1) {
            let place = format!("{}, {}, -", source.id(), remedy.file);
            let looked_for = format!("one {:?}", old.trim());
            return Err(Refused::new(&place, looked_for, number(old)).into());
        }
        patch.replace((remedy.file, &text), way);
        let end = text.lines().count() + 1;
        patch.add_lines(spec, (remedy.file, &text), (end, end), remedy.unit_test);
        news.push(way.news.to_owned());
    }
    surroundings::changelog(source, &news, &mut patch)?;
    Ok(patch.files)
}

/// The change as a diff below `prefix`, after a line that says what it is for.
pub fn diff(source: &CrateSource, budgets: &Budgets, prefix: &str) -> Result<String> {
    // In a package of the registry, cargo's own manifest takes the place of the repository's.
    let original = format!("{MANIFEST}.orig");
    let is_repository = prefix == Layout::Repository.prefix(source);
    let manifest = match is_repository && source.dir.join(&original).is_file() {
        true => &original,
        false => MANIFEST,
    };
    let files = files(source, budgets, manifest)?;
    let (repository, id) = (repository(&source.name), source.id());
    Ok(format!(
        "# {budgets}, for {repository} ({id})\n{}",
        below(prefix, &files)
    ))
}

/// The packages that a change for these budgets would touch.
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

/// The remedies of a package, each with its site and the way that is asked for.
fn remedies(
    package: &str,
    budgets: &Budgets,
) -> Vec<(&'static SiteSpec, &'static RemedySpec, &'static Way)> {
    let of_site = |spec| remedies_of(spec).map(move |remedy| (spec, remedy));
    let all = sites_of(package).flat_map(of_site);
    let with_way = |(spec, remedy): (_, &'static RemedySpec)| {
        let mut asked = budgets.remedies();
        let (_, name) = asked.find(|(asked, _)| asked.name() == remedy.name)?;
        let way = remedy.ways.iter().find(|way| way.name == name)?;
        Some((spec, remedy, way))
    };
    all.filter_map(with_way).collect()
}

fn is_deferred(budget: Budget) -> bool {
    // The wake of `coop` is tokio's own.
    budget.wake == Wake::Deferred && budget.limit != Limit::Coop
}

fn budget_at(spec: &SiteSpec, budgets: &Budgets) -> Option<Budget> {
    budgets.at(spec.site())
}

/// Adds the lines that end a poll, where they go.
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
