//! The time of polls by child, and the number of their iterations.

use run_format::{Site, payload::Payload};

use super::scene::{Entry, Scene, stem};
use crate::{
    charts::{Bar, BarGroup, Palette, Stacks},
    summary::CellSummary,
    text::grouped,
    verdict::holders::{self, Holder},
};

/// Children with a smaller share of all time are drawn as one.
const LEAST_PERCENT: f64 = 1.0;
const REST: &str = "others";

pub(super) fn entries(scene: &Scene) -> Vec<Entry> {
    let sites = scene.sites.iter();
    let by_child = sites.clone().filter_map(|site| by_child(scene, *site));
    let by_iterations = sites.filter_map(|site| by_iterations(scene, *site));
    by_child.chain(by_iterations).collect()
}

fn by_child(scene: &Scene, site: Site) -> Option<Entry> {
    let overall = holders::of(scene.summary, site);
    let mut segments: Vec<String> = Vec::new();
    for holder in overall.iter().filter(|it| it.percent >= LEAST_PERCENT) {
        if !segments.contains(&holder.child) {
            segments.push(holder.child.clone());
        }
    }
    // A site without children has nothing to show.
    if segments.len() < 2 {
        return None;
    }
    segments.push(REST.to_owned());
    let groups = groups(scene, |cells, slow| {
        let mut holders = holders::among(cells.iter().copied(), site);
        holders.retain(|holder| holder.slow == slow);
        let shares = segments
            .iter()
            .map(|segment| percent(segment, &segments, &holders));
        (!holders.is_empty()).then(|| (shares.collect(), String::new()))
    });
    let picture = Stacks {
        caption: scene.caption(
            format!("Time of {} by child", scene.summary.function(site)),
            format!(
                "child: a function that a poll calls; slow: longer than {}; baseline, in slices that record children",
                scene.options.threshold_text()
            ),
        ),
        axis: "share of poll time, %".to_owned(),
        groups,
        segments,
        palette: Palette::Kinds,
    };
    Some(scene.entry(
        "Time and iterations of polls",
        stem(&["time", site.name()]),
        format!("{site}, by child"),
        picture,
    ))
}

/// Of one segment. The last one is the rest.
fn percent(segment: &str, segments: &[String], holders: &[Holder]) -> f64 {
    let is_part = |holder: &&Holder| match segment {
        REST => !segments.contains(&holder.child),
        _ => holder.child == segment,
    };
    holders.iter().filter(is_part).map(|it| it.percent).sum()
}

/// A group for each payload, with a bar of all polls and one of slow polls. `bar` gives the shares of a bar and
/// a note beside it, or none if there are no such polls.
fn groups(
    scene: &Scene,
    bar: impl Fn(&[&CellSummary], bool) -> Option<(Vec<f64>, String)>,
) -> Vec<BarGroup> {
    let group = |&bytes: &Payload| {
        let cells = scene.summary.measured();
        let cells: Vec<_> = cells.filter(|it| it.cell.payload_bytes == bytes).collect();
        let bar = |(name, slow): (&str, bool)| {
            let (shares, note) = bar(&cells, slow).unzip();
            Bar {
                name: name.to_owned(),
                shares,
                note: note.unwrap_or_else(|| "no such polls".to_owned()),
            }
        };
        BarGroup {
            name: bytes.in_words(),
            bars: [("all polls", false), ("slow polls", true)].map(bar).into(),
        }
    };
    scene.summary.axes.payload_bytes.iter().map(group).collect()
}

/// The segments: their names, and the most iterations of each.
const STEPS: [(&str, u32); 5] = [
    ("1 iteration", 1),
    ("2", 2),
    ("3–4", 4),
    ("5–8", 8),
    ("9 or more", u32::MAX),
];

fn by_iterations(scene: &Scene, site: Site) -> Option<Entry> {
    let groups = groups(scene, |cells, only_slow| {
        let mut polls = [0.0; STEPS.len()];
        for row in cells
            .iter()
            .flat_map(|cell| holders::iterations(cell, site))
        {
            let step = STEPS.iter().position(|(_, most)| row.iterations <= *most);
            if let Some(step) = step.filter(|_| row.slow || !only_slow) {
                polls[step] += row.polls;
            }
        }
        let total: f64 = polls.iter().sum();
        let shares = polls.iter().map(|polls| 100.0 * polls / total).collect();
        (total > 0.0).then(|| (shares, format!("n = {}", grouped(total, 0))))
    });
    let mut bars = groups.iter().flat_map(|group| &group.bars);
    bars.any(|bar| bar.shares.is_some()).then(|| {
        let picture = Stacks {
            caption: scene.caption(
                format!(
                    "Iterations of the loop in one {}",
                    scene.summary.function(site)
                ),
                format!(
                    "slow: longer than {}; n: number of polls; baseline",
                    scene.options.threshold_text()
                ),
            ),
            axis: "share of polls, %".to_owned(),
            segments: STEPS.map(|(name, _)| name.to_owned()).into(),
            palette: Palette::Ordered,
            groups: groups.clone(),
        };
        scene.entry(
            "Time and iterations of polls",
            stem(&["iterations", site.name()]),
            format!("{site}, iterations per poll"),
            picture,
        )
    })
}
