//! Says where time goes according to sampled stacks: folded stacks for flamegraphs, the frames with the most time, calls
//! that wait, and whether the samples agree with the times that the probe recorded.

use std::collections::{BTreeMap, BTreeSet};

use run_format::{BASELINE, ENOUGH_SLOW_SAMPLES, EvidenceRow, IN_KERNEL, Pass, Site};

use super::sums::{PassSums, disjoint_sites, is_slow};
use super::thresholds::{AGREEMENT_PP, FEWEST_SLICES, FEWEST_SLOW_POLLS, FEWEST_WAITS};
use crate::load::CellEvidence;
use crate::load::explain::SlowPolls;
use crate::metrics::OWN;
use crate::stats::{
    self, CONFIDENCE, Interval, RatioKind, RatioPart, paired_change, percent, quotient,
};

/// Samples by folded stack: site, child, then frames from the poll function inwards.
pub(crate) type Folded = BTreeMap<String, u64>;

/// Functions in which a thread waits in the kernel: those of system calls, and those of glibc's locks.
const WAITING: [&str; 16] = [
    "clock_nanosleep",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "futex_abstimed_wait_common",
    "futex_abstimed_wait_common64",
    "futex_wait",
    "lll_lock_wait",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "pselect6",
    "sched_yield",
    "select",
    "wait4",
];

/// The innermost frames of samples.
pub(crate) struct InnermostFrames {
    /// Each frame with its percentage of the samples, the most frequent first.
    pub(crate) percents: Vec<(String, f64)>,
    pub(crate) samples: u64,
}

/// A child in which slow polls wait in the kernel.
pub(crate) struct Waiting<'a> {
    pub(crate) child: &'a str,
    /// The percentage of the samples in slow polls.
    pub(crate) percent: f64,
    /// The call with the most of these samples.
    pub(crate) call: String,
}

/// A child's share of the time of slow polls, measured in two ways.
pub(crate) struct ChildShares {
    pub(crate) child: String,
    /// The share by stacks less the share by the table, in percentage points.
    pub(crate) pp: f64,
    pub(crate) slices: usize,
    /// The interval of this difference. It is absent if slices are too few to show the noise.
    pub(crate) interval_pp: Option<Interval>,
}

impl ChildShares {
    /// Returns None if the interval holds differences that are acceptable, and others.
    pub(crate) fn agree(&self) -> Option<bool> {
        let Interval { low, high } = self.interval_pp?;
        match low >= -AGREEMENT_PP && high <= AGREEMENT_PP {
            true => Some(true),
            false => (low > AGREEMENT_PP || high < -AGREEMENT_PP).then_some(false),
        }
    }
}

/// The functions of a stack, and whether the thread was inside the kernel.
fn functions(stack: &EvidenceRow) -> (&str, bool) {
    match stack.what.strip_suffix(IN_KERNEL) {
        Some(functions) => (functions, true),
        None => (&stack.what, false),
    }
}

/// A stack that was inside the kernel gets an extra innermost frame.
fn line(stack: &EvidenceRow) -> String {
    let (functions, in_kernel) = functions(stack);
    let mut frames = vec![stack.child.as_deref().unwrap_or(OWN).replace(';', ",")];
    let inner = functions.split(';').filter(|frame| !frame.is_empty());
    frames.extend(inner.map(str::to_owned));
    if in_kernel {
        frames.push(format!("{}_[k]", innermost(stack)));
    }
    frames.join(";")
}

/// The innermost frame by its usual name: the system call if the thread was in one.
fn innermost(stack: &EvidenceRow) -> String {
    let (functions, in_kernel) = functions(stack);
    let mut frames_outwards = functions.rsplit(';').filter(|frame| !frame.is_empty());
    let last = frames_outwards.next().unwrap_or("unknown");
    if !in_kernel {
        return last.to_owned();
    }
    /// This function makes any system call by its number. Only its caller tells which.
    const BY_NUMBER: &str = "syscall";
    let caller = frames_outwards.next().filter(|_| last == BY_NUMBER);
    let path = caller.unwrap_or(last);
    const PREFIXES: [&str; 4] = ["__libc_", "__GI___", "__GI_", "__"];
    let name = path.rsplit("::").next().unwrap_or(path);
    let bare = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
    format!("{KERNEL}{}", bare.unwrap_or(name))
}

/// The beginning of the name of a frame in the kernel.
const KERNEL: &str = "[kernel] ";

impl CellEvidence {
    /// The samples in slow polls, or in all polls.
    pub(crate) fn folded(&self, variant: usize, is_of_slow: bool) -> Folded {
        let sums = PassSums::new(self, Pass::Stacks, variant);
        let SlowPolls { site, from_ns } = self.polls;
        sums.count_by(&self.stacks, |stack| {
            let sampled = stack
                .site
                .filter(|sampled| disjoint_sites(site).contains(sampled))?;
            let is_counted = !is_of_slow || is_slow(stack.from_ns, from_ns);
            is_counted.then(|| (format!("{sampled};{}", line(stack)), stack.count))
        })
    }

    /// The mean time between samples in polls of the site. On a busy machine it is several times the time that was asked for.
    /// Returns None if there are no samples.
    pub(crate) fn given_interval_ns(&self) -> Option<f64> {
        let site = self.polls.site;
        let variants: BTreeSet<usize> = self.slices.iter().map(|slice| slice.variant).collect();
        let sums = |variant| PassSums::new(self, Pass::Stacks, variant).polls(site, 0);
        let ns: u64 = variants.into_iter().map(|variant| sums(variant).ns).sum();
        let stacks = self.stacks.iter().filter(|row| row.site == Some(site));
        let samples: u64 = stacks.map(|row| row.count).sum();
        quotient(ns as f64, samples as f64)
    }

    /// The samples in slow polls of a site, added up by a name of their stacks.
    fn slow<'a, Name: Ord>(
        &'a self,
        sums: &PassSums<'a>,
        site: Site,
        name: impl Fn(&'a EvidenceRow) -> Name,
    ) -> BTreeMap<Name, u64> {
        let from_ns = self.polls.from_ns;
        sums.count_by(&self.stacks, |stack| {
            let is_counted = stack.site == Some(site) && is_slow(stack.from_ns, from_ns);
            is_counted.then(|| (name(stack), stack.count))
        })
    }

    /// The innermost frames of slow polls.
    pub(crate) fn frames(&self, variant: usize) -> InnermostFrames {
        let sums = PassSums::new(self, Pass::Stacks, variant);
        let by_name = self.slow(&sums, self.polls.site, innermost);
        let all: u64 = by_name.values().sum();
        let share = |(name, samples)| Some((name, percent(samples as f64, all as f64)?));
        let mut percents: Vec<(String, f64)> = by_name.into_iter().filter_map(share).collect();
        percents.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        InnermostFrames {
            percents,
            samples: all,
        }
    }

    /// The percentage of samples in slow polls of the baseline that were inside the kernel. Returns None if there are too few
    /// samples.
    pub(crate) fn in_kernel_percent(&self) -> Option<f64> {
        let sums = PassSums::new(self, Pass::Stacks, BASELINE);
        let samples = self.slow(&sums, self.polls.site, |stack| functions(stack).1);
        let inside = samples.get(&true).copied().unwrap_or(0);
        let all: u64 = samples.values().sum();
        percent(inside as f64, all as f64).filter(|_| all >= ENOUGH_SLOW_SAMPLES)
    }

    /// The child in which slow polls of a site wait most. Returns None if there are too few slow polls, or too few samples
    /// that wait.
    pub(crate) fn waiting(&self, site: Site) -> Option<Waiting<'_>> {
        let from_ns = self.polls.from_ns;
        let sums = PassSums::new(self, Pass::Stacks, BASELINE);
        let slow = self.slow(&sums, site, |stack| {
            (stack.child.as_deref(), innermost(stack))
        });
        let all: u64 = slow.values().sum();
        let mut by_child: BTreeMap<Option<&str>, BTreeMap<&str, u64>> = BTreeMap::new();
        for ((child, frame), samples) in &slow {
            let call = frame.strip_prefix(KERNEL);
            if let Some(call) = call.filter(|call| WAITING.contains(call)) {
                by_child.entry(*child).or_default().insert(call, *samples);
            }
        }
        let waits_by_child = by_child
            .into_iter()
            .map(|(child, calls)| (calls.values().sum::<u64>(), child, calls));
        let (waits, child, calls) = waits_by_child.max_by_key(|(waits, ..)| *waits)?;
        let (call, _) = calls.into_iter().max_by_key(|(_, samples)| *samples)?;
        let slow_polls = sums.polls(site, from_ns).count;
        (slow_polls >= FEWEST_SLOW_POLLS && waits >= FEWEST_WAITS).then(|| Waiting {
            child: child.unwrap_or(OWN),
            percent: percent(waits as f64, all as f64).unwrap_or(0.0),
            call: format!("`{call}`"),
        })
    }

    /// The shares of children in slow polls of the baseline, by samples and by the times of children in other slices of the
    /// same blocks, whose polls no sample makes longer. The largest difference is first. There are none if samples or times
    /// are missing, or if there are too few samples.
    pub(crate) fn shares(&self) -> Vec<ChildShares> {
        let SlowPolls { site, from_ns } = self.polls;
        let [timed, stacks] =
            [Pass::Timeline, Pass::Stacks].map(|pass| PassSums::new(self, pass, BASELINE));
        let by_child = |sums: PassSums| [sums.child_ns(site, from_ns), BTreeMap::new()];
        let mut slices: Vec<[BTreeMap<String, u64>; 2]> = timed.by_slice().map(by_child).collect();
        // Later blocks have stacks alone, which are spread over the others.
        let blocks = slices.len();
        for (index, sums) in stacks.by_slice().enumerate().filter(|_| blocks > 0) {
            let [_, by_child] = &mut slices[index % blocks];
            let child = |stack: &EvidenceRow| stack.child.as_deref().unwrap_or(OWN).to_owned();
            for (child, samples) in self.slow(&sums, site, child) {
                *by_child.entry(child).or_default() += samples;
            }
        }
        let sampled = slices.iter().flat_map(|[_, by_child]| by_child.values());
        let samples: u64 = sampled.sum();
        if samples < ENOUGH_SLOW_SAMPLES {
            return Vec::new();
        }
        let children: BTreeSet<&String> =
            slices.iter().flatten().flat_map(BTreeMap::keys).collect();
        let compare_child = |child: &String| {
            let part = |by_child: &BTreeMap<String, u64>| {
                let own = by_child.get(child).copied().unwrap_or(0);
                RatioPart::from_counts(own, by_child.values().sum())
            };
            let parts = |index: usize| vec![slices.iter().map(|sums| part(&sums[index])).collect()];
            let table = stats::ratio(&parts(0), RatioKind::Amount)?;
            let stacks = stats::ratio(&parts(1), RatioKind::Share)?;
            let change = paired_change(&table, &stacks).filter(|_| slices.len() >= FEWEST_SLICES);
            Some(ChildShares {
                child: child.clone(),
                pp: 100.0 * stacks.value - 100.0 * table.value,
                slices: slices.len(),
                interval_pp: change
                    .map(|change| change.difference.interval(CONFIDENCE).times(100.0)),
            })
        };
        let mut shares: Vec<ChildShares> = children.into_iter().filter_map(compare_child).collect();
        shares.sort_by(|one, other| other.pp.abs().total_cmp(&one.pp.abs()));
        shares
    }
}
