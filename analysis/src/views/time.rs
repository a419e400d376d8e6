//! The time of polls by child.

use run_format::{Site, payload::Payload};

use super::scene::{Entry, Scene, stem};
use crate::{
    charts::{BarGroup, Stacks},
    summary::CellSummary,
    verdict::holders::{self, Holder},
};

/// Children with a smaller share of all time are drawn as one.
const LEAST_PERCENT: f64 = 1.0;
const REST: &str = "others";

pub(super) fn entries(scene: &Scene) -> Vec<Entry> {
    let sites = scene.sites.iter();
    sites.filter_map(|site| by_child(scene, *site)).collect()
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
    let payloads = scene.summary.shown_axes().payload_bytes.into_iter();
    let picture = Stacks {
        caption: scene.caption(
            format!("Time of {} by child", scene.summary.function(site)),
            format!(
                "child: a function that a poll calls; slow: longer than {}; baseline, in slices that record children",
                scene.options.threshold_text()
            ),
        ),
        axis: "share of poll time, %".to_owned(),
        groups: payloads
            .map(|bytes| group(scene, site, &segments, bytes))
            .collect(),
        segments,
    };
    Some(scene.entry(stem(&["time", site.name()]), picture))
}

fn group(scene: &Scene, site: Site, segments: &[String], bytes: Payload) -> BarGroup {
    let is_one = |cell: &&CellSummary| cell.measured.cell.payload_bytes == bytes;
    let cells = scene.summary.measured().filter(is_one);
    let holders = holders::among(cells, site);
    let bar = |(name, slow): (&'static str, bool)| {
        let holders = holders.iter().filter(|it| it.slow == slow);
        let holders: Vec<&Holder> = holders.collect();
        let shares = segments.iter();
        let shares = shares.map(|segment| percent(segment, segments, &holders));
        (name, (!holders.is_empty()).then(|| shares.collect()))
    };
    BarGroup {
        name: bytes.in_words(),
        bars: [("all polls", false), ("slow polls", true)].map(bar).into(),
    }
}

/// Of one segment. The last one is the rest.
fn percent(segment: &str, segments: &[String], holders: &[&Holder]) -> f64 {
    let is_part = |holder: &&&Holder| match segment {
        REST => !segments.contains(&holder.child),
        _ => holder.child == segment,
    };
    holders.iter().filter(is_part).map(|it| it.percent).sum()
}
