//! The changes by every candidate of a search. A panel for each site has a row for each limit and a column for each wake.

use poll_probe::{Budget, Limit, Wake};
use run_format::{Budgets, Role, Site};

use super::heatmaps::of_differences;
use super::scene::{Entry, Scene};
use crate::charts::{Categories, ChartValue, ColourScale, Facet, Heatmap, HeatmapCell, NoValue};
use crate::measure::predicted::sort_key;
use crate::measure::{Metric, Place};
use crate::search::Search;
use crate::stats::{CONFIDENCE, confidence_of_each};
use crate::verdict::unit;

pub(crate) fn entries(scene: &Scene, search: &Search) -> Vec<Entry> {
    let metrics = Metric::shown_in(Place::Search).into_iter();
    metrics.map(|metric| map(scene, search, metric)).collect()
}

/// The sites that a candidate bounds, and the bound. None if the sites have different bounds.
fn bound(budgets: &Budgets) -> Option<(Vec<Site>, Budget)> {
    let all = Site::BUDGETED.iter().copied();
    let sites: Vec<Site> = all.filter(|site| budgets.at(*site).is_some()).collect();
    let first = budgets.at(*sites.first()?)?;
    let is_same = sites.iter().all(|site| budgets.at(*site) == Some(first));
    is_same.then_some((sites, first))
}

fn map(scene: &Scene, search: &Search, metric: Metric) -> Entry {
    let mut candidates: Vec<(Vec<Site>, Budget, Budgets)> = Vec::new();
    for variant in &search.file.config.variants {
        if let (Role::Candidate, Some((sites, budget))) = (variant.role, bound(&variant.budgets)) {
            candidates.push((sites, budget, variant.budgets));
        }
    }
    let all = candidates.iter().map(|(_, budget, _)| budget.limit);
    let mut limits: Vec<Limit> = all.collect();
    limits.sort_by_key(|limit| sort_key(*limit));
    limits.dedup();
    let mut places: Vec<&Vec<Site>> = candidates.iter().map(|(sites, ..)| sites).collect();
    places.sort_by_key(|sites| (sites.len(), *sites));
    places.dedup();
    let facet = |sites: &&Vec<Site>| {
        let names: Vec<&str> = sites.iter().map(|site| site.name()).collect();
        let wakes = [Wake::Immediate, Wake::Deferred];
        Facet::new(names.join(" and "), 0, &limits, &wakes, |&limit, &wake| {
            let wanted = (limit, wake, None);
            let mut all = candidates.iter();
            let candidate = all.find(|(bounded, budget, _)| {
                bounded == *sites && (budget.limit, budget.wake, budget.segments) == wanted
            });
            value(search, candidate.map(|(_, _, budgets)| *budgets), metric)
        })
    };
    let facets: Vec<Facet> = places.iter().map(facet).collect();
    let (info, colours) = (metric.info(), of_differences(metric));
    let name = format!("change of {}", info.words);
    let changes = facets.iter().flat_map(Facet::coloured);
    let scale = ColourScale::new(&name, unit(metric), colours, changes);
    let labels = limits.iter().map(|limit| match limit {
        Limit::Time(time) => format!("{} µs", time.as_nanos() as f64 / 1e3),
        limit => limit.to_string(),
    });
    let heatmap = Heatmap {
        rows: Categories::new("limit", labels),
        columns: Categories::new("wake", ["immediate", "deferred"]),
        across: facets.len(),
        facets,
        scales: vec![scale],
    };
    let title = format!("Change of {} under each budget", info.words);
    let subtitle = "mean change over the cells, compared with no budget, in the last round that measured the budget; \
                    below each value: its 95 % interval";
    let is_first = metric == Metric::CotenantP90Us;
    let texts = [title, subtitle.to_owned()];
    scene.entry(&["search", info.name], is_first, texts, heatmap)
}

fn value(search: &Search, budgets: Option<Budgets>, metric: Metric) -> HeatmapCell {
    let last = search.rounds.iter().rev().find_map(|round| {
        let (verdict, summary) = (&round.verdict, &round.summary);
        let is_same = |variant: usize| Some(summary.variants[variant].budgets) == budgets;
        let mut candidates = verdict.candidates.iter();
        let candidate = candidates.find(|candidate| is_same(candidate.variant))?;
        let change = verdict.change(summary, candidate.variant, metric);
        Some((candidate.is_idle, change))
    });
    // With this confidence of each interval, those of all candidates hold together.
    let together = confidence_of_each(search.file.config.variants.len());
    let mut is_resolved = true;
    let is_foreseen = budgets.is_some_and(|budgets| search.is_foreseen(budgets));
    let value = match last {
        None if !is_foreseen => Err(NoValue::Missing),
        None | Some((true, _)) => Err(NoValue::NeverFires),
        Some((false, None)) => Err(NoValue::NotApplicable),
        Some((false, Some(change))) => {
            is_resolved = !change.interval(together).covers(0.0);
            let interval = change.interval(CONFIDENCE);
            Ok(ChartValue::new(change.value(), Some(interval)))
        }
    };
    HeatmapCell { value, is_resolved }
}
