//! What bounds would do to slow polls, and what the measured budgets did.

use poll_probe::Limit;
use run_format::Site;

use super::scene::{Entry, Scene, cell_name, of_figure};
use crate::{
    budget::{limit_in_words, room},
    charts::{Categories, ChartSeries, LineChart, LineChartPanel, PanelLayout, ValueAxis},
    summary::{CellSummary, predicted::SideBySide},
};

/// Of the cell that a report shows.
pub(super) fn entries(scene: &Scene) -> Vec<Entry> {
    let cell = scene.summary.most_slow_time_predicted(scene.verdict.site);
    cell.map(|cell| of_cell(scene, cell)).into_iter().collect()
}

fn of_cell(scene: &Scene, cell: &CellSummary) -> Entry {
    let rows: Vec<SideBySide> = scene.summary.predicted(cell).collect();
    let mut limits: Vec<Option<Limit>> = rows.iter().map(|it| it.of.limit).collect();
    limits.sort_by_key(|limit| limit.map(room));
    limits.dedup();
    let in_words = |limit: &Option<Limit>| limit.map_or_else(|| "none".to_owned(), limit_in_words);
    let places = Categories {
        name: "bound (a number without a unit: iterations per poll)".to_owned(),
        labels: limits.iter().map(in_words).collect(),
    };
    let is_time = |limit: &Option<Limit>| matches!(limit, Some(Limit::Time(_)));
    let panel = |site: Site| {
        let of_site = || rows.iter().filter(move |it| it.of.site == site);
        let line = |times: bool| {
            let point = |limit: &Option<Limit>| {
                let found = of_site().find(|it| it.of.limit == *limit)?;
                (is_time(limit) == times).then(|| of_figure(&found.predicted))
            };
            limits.iter().map(point).collect()
        };
        let mark = |it: &SideBySide| {
            let place = limits.iter().position(|limit| *limit == it.of.limit)?;
            Some((place, of_figure(it.measured?.1)))
        };
        LineChartPanel {
            title: String::new(),
            places: places.clone(),
            axis: ValueAxis {
                name: format!("slow polls, {site}"),
                unit: "%".to_owned(),
                from_zero: true,
            },
            baseline: None,
            marks: of_site().filter_map(mark).collect(),
            lines: vec![line(false), line(true)],
        }
    };
    let sites = scene.sites.iter().copied();
    let sites = sites.filter(|site| cell.recorded_polls(*site).is_some());
    let series = ["predicted: counts of iterations", "predicted: times"];
    let series = series.into_iter().enumerate();
    let picture = LineChart {
        caption: scene.caption(
            "What a bound would do to slow polls, and what budgets did".to_owned(),
            format!(
                "{}; slow: longer than {}; the bound and the polls are those of the same site; predicted from recorded \
                 iterations without a budget; bars: 95 % intervals",
                cell_name(&cell.cell),
                scene.options.threshold_text()
            ),
        ),
        layout: PanelLayout::OneBelowTheOther,
        series: series
            .map(|(slot, name)| ChartSeries {
                name: name.to_owned(),
                slot,
            })
            .collect(),
        baseline_name: String::new(),
        marks_name: "measured".to_owned(),
        panels: sites.map(panel).collect(),
    };
    scene.entry(
        "Comparison of budgets",
        "bounds".to_owned(),
        "what a bound would do".to_owned(),
        picture,
    )
}
