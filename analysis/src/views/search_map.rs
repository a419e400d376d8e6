//! What every candidate of a search did: limit × wake, a panel for each site.

use poll_probe::{Budget, Limit, Wake};
use run_format::{Budgets, Site, variant::Role};

use super::{
    grid,
    scene::{Entry, Scene, ends, stem},
};
use crate::{
    charts::{Categories, CellValue, ChartValue, Facet, Heatmap, HeatmapCell, NoValue},
    measure::{metric::Metric, metric_info::Place, predicted::room},
    search::Search,
    stats::CONFIDENCE,
    verdict::unit,
};

pub(crate) fn entries(scene: &Scene, search: &Search) -> Vec<Entry> {
    let metrics = Metric::shown_in(Place::Search).into_iter();
    let entry = |metric| Entry {
        is_first: metric == Metric::CotenantP90Us,
        ..map(scene, search, metric)
    };
    metrics.map(entry).collect()
}

fn bound(budgets: &Budgets) -> Option<(Vec<Site>, Budget)> {
    let at = |site: &Site| Some((*site, budgets.at(*site)?));
    let bounds: Vec<(Site, Budget)> = Site::BUDGETED.iter().filter_map(at).collect();
    let (_, first) = *bounds.first()?;
    let is_one = bounds.iter().all(|(_, bound)| *bound == first);
    is_one.then(|| (bounds.into_iter().map(|(site, _)| site).collect(), first))
}

fn in_words(limit: Limit) -> String {
    match limit {
        Limit::Time(time) => format!("{} µs", time.as_nanos() as f64 / 1e3),
        limit => limit.to_string(),
    }
}

fn map(scene: &Scene, search: &Search, metric: Metric) -> Entry {
    let candidates = search.of.config.variants.iter();
    let candidates = candidates.filter(|it| it.role == Role::Candidate);
    let bounds: Vec<_> = candidates.filter_map(|it| bound(&it.budgets)).collect();
    let mut limits: Vec<_> = bounds.iter().map(|(_, bound)| bound.limit).collect();
    limits.sort_by_key(|limit| room(*limit));
    limits.dedup();
    let mut places: Vec<Vec<Site>> = bounds.iter().map(|(sites, _)| sites.clone()).collect();
    places.sort();
    places.dedup();
    places.sort_by_key(Vec::len);
    let wakes = [Wake::Immediate, Wake::Deferred];
    let facet = |sites: &Vec<Site>| {
        let cell = |limit, wake| {
            let wanted = (sites.clone(), Budget { limit, wake });
            let budgets = search.of.config.variants.iter().map(|it| it.budgets);
            let mut budgets = budgets.filter(|it| bound(it).as_ref() == Some(&wanted));
            value(search, budgets.next(), metric)
        };
        let names: Vec<&str> = sites.iter().map(|site| site.name()).collect();
        let row = |limit: &Limit| wakes.map(|wake| cell(*limit, wake)).to_vec();
        Facet {
            title: names.join(" and "),
            is_difference: true,
            cells: limits.iter().map(row).collect(),
        }
    };
    let facets: Vec<Facet> = places.iter().map(facet).collect();
    let shown = facets.iter().flat_map(|facet| facet.cells.iter().flatten());
    let resolved = shown.filter(|cell| cell.is_resolved);
    let values = resolved.filter_map(|cell| cell.value.ok());
    let scale = grid::difference_scale(
        format!("change of {}", metric.info().words),
        unit(metric),
        metric.info().better,
        values.map(|value| value.value),
    );
    let picture = Heatmap {
        caption: scene.caption(
            format!("Change of {} under each budget", metric.info().words),
            "mean change over the cells, compared with no budget, in the last round that measured the budget; below \
             each value: its 95 % interval",
        ),
        rows: Categories::new("limit", limits.iter().map(|limit| in_words(*limit))),
        columns: Categories::new("wake", ["immediate", "deferred"]),
        across: facets.len(),
        facets,
        scale,
        difference_scale: None,
    };
    scene.entry(stem(&["search", metric.info().name]), picture)
}

/// In the last round that measured it.
fn value(search: &Search, budgets: Option<Budgets>, metric: Metric) -> HeatmapCell {
    let last = search.rounds.iter().rev().find_map(|round| {
        let candidates = &round.verdict.candidates;
        let is_it = |variant: usize| Some(round.summary.variants[variant].budgets) == budgets;
        let candidate = candidates.iter().find(|it| is_it(it.variant))?;
        let (verdict, summary) = (&round.verdict, &round.summary);
        let change = verdict.change(summary, candidate.variant, metric);
        Some((candidate.is_idle, change))
    });
    // Significant whatever the number of candidates (Bonferroni).
    let together = 1.0 - (1.0 - CONFIDENCE) / search.of.config.variants.len() as f64;
    let mut is_resolved = true;
    let is_foreseen = budgets.is_some_and(|it| search.is_foreseen(it));
    let value: CellValue = match last {
        None if !is_foreseen => Err(NoValue::Missing),
        None | Some((true, _)) => Err(NoValue::NeverFires),
        Some((false, None)) => Err(NoValue::NotApplicable),
        Some((false, Some(change))) => {
            is_resolved = !change.interval(together).covers(0.0);
            let interval = ends(Some(change.interval(CONFIDENCE)));
            Ok(ChartValue::new(change.value(), interval))
        }
    };
    HeatmapCell { value, is_resolved }
}
