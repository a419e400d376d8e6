//! Where sampled stacks say that time goes: folded stacks for flamegraphs, the frames that hold most of it,
//! and whether that agrees with what the probe timed.

use std::collections::BTreeMap;

use super::{
    sums::{Sums, apart, by, child_name},
    thresholds::AGREEMENT_PP,
};
use crate::{
    load::explain::{
        cell::{CellEvidence, Pass},
        tables::Stack,
    },
    site::Site,
};

/// Samples by folded stack: site and child, then frames from the poll function inwards.
pub(crate) type Folded = BTreeMap<String, u64>;

/// A frame and its share of the samples in which it was the innermost.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) name: String,
    pub(crate) percent: f64,
}

/// What a child holds of slow polls, in two ways.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Agreement {
    pub(crate) child: String,
    pub(crate) stacks_percent: f64,
    pub(crate) table_percent: f64,
}

impl Agreement {
    pub(crate) fn pp(&self) -> f64 {
        self.stacks_percent - self.table_percent
    }

    pub(crate) fn holds(&self) -> bool {
        self.pp().abs() <= AGREEMENT_PP
    }
}

/// Of all polls, or of those from a band on.
pub(crate) fn folded(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
    from_ns: Option<u64>,
) -> Folded {
    let mut folded = Folded::new();
    let Some(sums) = Sums::of(evidence, &[Pass::Stacks], variant) else {
        return folded;
    };
    let sites = apart(site);
    for stack in evidence.stacks.iter().filter(|it| sums.has(it.slice)) {
        let Some(of) = stack.place.site.filter(|of| sites.contains(of)) else {
            continue;
        };
        if from_ns.is_none_or(|from_ns| stack.place.is_slow(from_ns)) {
            let line = format!("{of};{}", line(stack));
            *folded.entry(line).or_default() += stack.samples;
        }
    }
    folded
}

/// A frame for the kernel is put on top of a stack that was inside of it.
fn line(stack: &Stack) -> String {
    let mut frames = vec![child_name(&stack.place.child).replace(';', ",")];
    frames.extend(
        stack
            .frames
            .split(';')
            .filter(|it| !it.is_empty())
            .map(str::to_owned),
    );
    if stack.in_kernel {
        frames.push(format!("{}_[k]", innermost(stack)));
    }
    frames.join(";")
}

/// As people name it: the system call, if the thread was in one.
fn innermost(stack: &Stack) -> String {
    let mut inwards = stack.frames.rsplit(';').filter(|it| !it.is_empty());
    let last = inwards.next().unwrap_or("unknown");
    if !stack.in_kernel {
        return last.to_owned();
    }
    /// Makes any call, by its number, so that only who calls it says which.
    const BY_NUMBER: &str = "syscall";
    let last = if last == BY_NUMBER {
        inwards.next().unwrap_or(last)
    } else {
        last
    };
    const PREFIXES: [&str; 4] = ["__libc_", "__GI___", "__GI_", "__"];
    let name = last.rsplit("::").next().unwrap_or(last);
    let bare = PREFIXES.iter().find_map(|it| name.strip_prefix(it));
    format!("[kernel] {}", bare.unwrap_or(name))
}

fn slow(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
    from_ns: u64,
) -> impl Iterator<Item = &Stack> {
    let sums = Sums::of(evidence, &[Pass::Stacks], variant);
    evidence.stacks.iter().filter(move |it| {
        it.place.site == Some(site)
            && it.place.is_slow(from_ns)
            && sums.as_ref().is_some_and(|sums| sums.has(it.slice))
    })
}

/// The innermost frames of slow polls with the most samples, and how many samples there are in all.
pub(crate) fn frames(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
    from_ns: u64,
) -> (Vec<Frame>, u64) {
    let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
    for stack in slow(evidence, variant, site, from_ns) {
        *by_name.entry(innermost(stack)).or_default() += stack.samples;
    }
    let all: u64 = by_name.values().sum();
    let frame = |(name, samples): (String, u64)| Frame {
        name,
        percent: 100.0 * samples as f64 / all as f64,
    };
    let mut frames: Vec<Frame> = by_name.into_iter().map(frame).collect();
    frames.sort_by(|one, other| other.percent.total_cmp(&one.percent));
    (frames, all)
}

/// The share of slow polls' samples that were inside the kernel, in percent.
pub(crate) fn in_kernel_percent(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
    from_ns: u64,
) -> Option<f64> {
    let (mut inside, mut all) = (0, 0);
    for stack in slow(evidence, variant, site, from_ns) {
        all += stack.samples;
        inside += if stack.in_kernel { stack.samples } else { 0 };
    }
    Some(100.0 * by(inside as f64, all as f64)?)
}

/// What children hold of slow polls, by samples and by the table of children of the slices in which nothing
/// more was recorded. The largest difference is first; nothing where one of the two is not there.
pub(crate) fn agreement(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
    from_ns: u64,
) -> Vec<Agreement> {
    let mut by_stacks: BTreeMap<String, f64> = BTreeMap::new();
    for stack in slow(evidence, variant, site, from_ns) {
        let child = child_name(&stack.place.child).to_owned();
        *by_stacks.entry(child).or_default() += stack.samples as f64;
    }
    let recorded = [Pass::Stacks, Pass::Timeline];
    let by_table = Sums::of(evidence, &recorded, variant)
        .map(|sums| sums.child_ns(site, from_ns))
        .unwrap_or_default();
    let samples: f64 = by_stacks.values().sum();
    let ns: f64 = by_table.values().sum();
    if samples <= 0.0 || ns <= 0.0 {
        return Vec::new();
    }
    let mut children: Vec<&String> = by_stacks.keys().chain(by_table.keys()).collect();
    children.sort();
    children.dedup();
    let share = |of: &BTreeMap<String, f64>, child: &String, all: f64| {
        100.0 * of.get(child).copied().unwrap_or(0.0) / all
    };
    let of_child = |child: &String| Agreement {
        child: child.clone(),
        stacks_percent: share(&by_stacks, child, samples),
        table_percent: share(&by_table, child, ns),
    };
    let mut agreement: Vec<Agreement> = children.into_iter().map(of_child).collect();
    agreement.sort_by(|one, other| other.pp().abs().total_cmp(&one.pp().abs()));
    agreement
}
