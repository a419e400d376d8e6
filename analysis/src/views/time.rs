//! Where the time of polls goes, by child and by number of iterations.

use super::{Entry, Scene, stem};
use crate::{
    charts::{Bar, BarGroup, Palette, Stacks},
    grid::payload,
    site::Site,
    summary::CellSummary,
    verdict::holders::{self, Holder},
};

/// Children with less of all time than this are put together.
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
    let group = |name: String, holders: Vec<Holder>| BarGroup {
        name,
        bars: [("all polls", false), ("slow polls", true)]
            .map(|(name, slow)| child_bar(name, &holders, slow, &segments))
            .into_iter()
            .collect(),
    };
    let by_payload = scene.summary.axes.payload_bytes.iter().map(|&bytes| {
        let cells = of_payload(scene, bytes);
        group(payload(bytes), holders::among(cells, site))
    });
    let picture = Stacks {
        caption: scene.caption(
            format!("Where the time of {} goes, by child", site.function()),
            format!(
                "baseline; slow: over {}; children are recorded in slices of their own",
                scene.options.threshold_text()
            ),
        ),
        axis: "share of poll time, %".to_owned(),
        groups: by_payload.collect(),
        segments: segments.clone(),
        palette: Palette::Kinds,
    };
    Some(scene.entry(
        "Where the time goes",
        stem(&["time", site.name()]),
        format!("{site}, by child"),
        picture,
    ))
}

fn child_bar(name: &str, holders: &[Holder], slow: bool, segments: &[String]) -> Bar {
    let of_kind: Vec<&Holder> = holders.iter().filter(|it| it.slow == slow).collect();
    let percent = |segment: &String| {
        let named = of_kind.iter().find(|it| it.child == *segment);
        if segment == REST {
            let rest = of_kind.iter().filter(|it| !segments.contains(&it.child));
            rest.map(|it| it.percent).sum()
        } else {
            named.map_or(0.0, |it| it.percent)
        }
    };
    let is_known = !of_kind.is_empty();
    Bar {
        name: name.to_owned(),
        shares: is_known.then(|| segments.iter().map(percent).collect()),
        note: if is_known { "" } else { "none seen" }.to_owned(),
    }
}

fn of_payload<'a>(scene: &Scene<'a>, bytes: u64) -> impl Iterator<Item = &'a CellSummary> {
    let cells = scene.summary.measured();
    cells.filter(move |cell| cell.cell.payload_bytes == bytes)
}

/// The most iterations of each segment but the last, which is open.
const STEPS: [(&str, u64); 5] = [
    ("1 iteration", 1),
    ("2", 2),
    ("3–4", 4),
    ("5–8", 8),
    ("9 or more", u64::MAX),
];

fn by_iterations(scene: &Scene, site: Site) -> Option<Entry> {
    let groups: Vec<BarGroup> = scene
        .summary
        .axes
        .payload_bytes
        .iter()
        .map(|&bytes| BarGroup {
            name: payload(bytes),
            bars: vec![
                iteration_bar(scene, site, bytes, "all polls", false),
                iteration_bar(scene, site, bytes, "slow polls", true),
            ],
        })
        .collect();
    let is_known = groups
        .iter()
        .flat_map(|it| &it.bars)
        .any(|bar| bar.shares.is_some());
    let picture = Stacks {
        caption: scene.caption(
            format!("How often {} iterates in one poll", site.function()),
            format!("baseline; slow: over {}", scene.options.threshold_text()),
        ),
        axis: "share of polls, %".to_owned(),
        segments: STEPS.iter().map(|(name, _)| (*name).to_owned()).collect(),
        palette: Palette::Ordered,
        groups,
    };
    is_known.then(|| {
        scene.entry(
            "Where the time goes",
            stem(&["iterations", site.name()]),
            format!("{site}, iterations per poll"),
            picture,
        )
    })
}

fn iteration_bar(scene: &Scene, site: Site, bytes: u64, name: &str, only_slow: bool) -> Bar {
    let mut polls = [0.0; STEPS.len()];
    for cell in of_payload(scene, bytes) {
        for row in holders::iterations(cell, site) {
            let step = STEPS.iter().position(|(_, most)| row.iterations <= *most);
            if let Some(step) = step.filter(|_| row.slow || !only_slow) {
                polls[step] += row.polls;
            }
        }
    }
    let total: f64 = polls.iter().sum();
    Bar {
        name: name.to_owned(),
        shares: (total > 0.0).then(|| polls.iter().map(|it| 100.0 * it / total).collect()),
        note: if total > 0.0 {
            format!("n = {total:.0}")
        } else {
            "none seen".to_owned()
        },
    }
}
