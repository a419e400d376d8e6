//! The evidence from one cell's launch.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;

use super::tables::{
    self, Activity, Allocation, AllocationStack, Counter, Stack, Stretch, SystemCalls,
};
use crate::{
    grid::Cell,
    load::{
        json,
        manifest::{Manifest, SCHEMA},
        run_row::RunRow,
        tables::{self as of_sweep, counts, reals, sites, words},
    },
    site::Site,
};

/// The kind of evidence that a slice has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pass {
    Stacks,
    Allocations,
    Counters,
    SystemCalls,
    Timeline,
    Activity,
    Normal,
    Warm,
}

impl Pass {
    const ALL: [Pass; 8] = [
        Pass::Stacks,
        Pass::Allocations,
        Pass::Counters,
        Pass::SystemCalls,
        Pass::Timeline,
        Pass::Activity,
        Pass::Normal,
        Pass::Warm,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Pass::Stacks => "stacks",
            Pass::Allocations => "allocations",
            Pass::Counters => "counters",
            Pass::SystemCalls => "system-calls",
            Pass::Timeline => "timeline",
            Pass::Activity => "activity",
            Pass::Normal => "normal",
            Pass::Warm => "warm",
        }
    }
}

/// A stretch of the launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    pub(crate) number: u64,
    pub(crate) pass: Pass,
    pub(crate) block: u64,
    pub(crate) variant: usize,
    pub(crate) start_ms: f64,
    pub(crate) duration_ms: f64,
    pub(crate) requests: u64,
}

/// Polls of a site in a band.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band {
    pub(crate) slice: u64,
    pub(crate) site: Site,
    pub(crate) from_ns: u64,
    pub(crate) polls: u64,
    pub(crate) ns: u64,
}

/// Polls of a child, by the band of the poll around them.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub(crate) slice: u64,
    pub(crate) site: Site,
    pub(crate) from_ns: u64,
    pub(crate) child: String,
    pub(crate) polls: u64,
    pub(crate) ns: u64,
}

/// How polls of a site ended, and how many of them and of their children were not kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) slice: u64,
    pub(crate) site: Site,
    pub(crate) polls: u64,
    pub(crate) pending: u64,
    pub(crate) lost: u64,
    pub(crate) children_lost: u64,
}

/// `evidence.json`: what could be seen. Null for what is unavailable.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Seen {
    pub(crate) unavailable: Vec<Unavailable>,
    pub(crate) stack_interval_ns: Option<f64>,
    pub(crate) stacks_lost: Option<u64>,
    pub(crate) objects_per_stack: Option<f64>,
    pub(crate) allocation_stacks_lost: Option<u64>,
    pub(crate) system_call_overhead_ns: Option<f64>,
    pub(crate) system_calls_lost: Option<u64>,
}

/// What could not be seen.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Unavailable {
    /// The name of the pass.
    pub(crate) evidence: String,
    pub(crate) what: String,
    pub(crate) why: String,
}

/// One launch with all that was seen in it.
pub(crate) struct CellEvidence {
    pub(crate) cell: Cell,
    pub(crate) seen: Seen,
    /// In the order of time.
    pub(crate) slices: Vec<Slice>,
    pub(crate) ends: Vec<Ends>,
    pub(crate) bands: Vec<Band>,
    pub(crate) children: Vec<Child>,
    pub(crate) stacks: Vec<Stack>,
    pub(crate) allocations: Vec<Allocation>,
    pub(crate) allocation_stacks: Vec<AllocationStack>,
    pub(crate) counters: Vec<Counter>,
    pub(crate) system_calls: Vec<SystemCalls>,
    pub(crate) timeline: Vec<Stretch>,
    pub(crate) activity: Vec<Activity>,
}

/// How the launch went, if it is one of this cell and of this sweep's workload.
pub(super) fn row(dir: &Path, id: &str, manifest: &Manifest) -> Result<RunRow> {
    let path = dir.join("run.json");
    let row: RunRow = json(&path, SCHEMA)?;
    let at = || path.display().to_string();
    if row.cell != id || row.config.cell.id() != id {
        bail!("{}: it is of the cell {}", at(), row.cell);
    }
    if row.config.node != manifest.config.node {
        bail!(
            "{}: its workload, security or transport is not that of the manifest",
            at()
        );
    }
    Ok(row)
}

impl CellEvidence {
    /// Whether the baseline was looked at in this way.
    pub(crate) fn has(&self, pass: Pass) -> bool {
        let is_there = |slice: &Slice| slice.variant == 0 && slice.pass == pass;
        let rows = match pass {
            Pass::Stacks => self.stacks.len(),
            Pass::Allocations => self.allocations.len(),
            Pass::Counters => self.counters.len(),
            Pass::SystemCalls => self.system_calls.len(),
            Pass::Timeline => self.timeline.len(),
            Pass::Activity => self.activity.len(),
            Pass::Normal | Pass::Warm => self.bands.len(),
        };
        rows > 0 && self.slices.iter().any(is_there)
    }

    /// Everything that the launch left. `variants` are those that it may be about.
    pub(super) fn read(dir: &Path, row: RunRow, variants: &[usize]) -> Result<CellEvidence> {
        let seen = seen(&dir.join("evidence.json"))?;
        let path = dir.join("slices.csv");
        let slices = slices(&path, variants).with_context(|| path.display().to_string())?;
        let table = Tables {
            dir,
            seen: &seen,
            known: slices.iter().map(|slice| slice.number).collect(),
        };
        Ok(CellEvidence {
            cell: row.config.cell,
            ends: ends(&dir.join("sites.csv"))?,
            bands: bands(&dir.join("bands.csv"))?,
            children: children(&dir.join("children.csv"))?,
            stacks: table.of(Pass::Stacks, "stacks.csv", tables::stacks, |it| it.slice)?,
            allocations: table.of(
                Pass::Allocations,
                "allocations.csv",
                tables::allocations,
                |it| it.slice,
            )?,
            allocation_stacks: table.of(
                Pass::Allocations,
                "allocation_stacks.csv",
                tables::allocation_stacks,
                |it| it.slice,
            )?,
            counters: table.of(Pass::Counters, "counters.csv", tables::counters, |it| {
                it.slice
            })?,
            system_calls: table.of(
                Pass::SystemCalls,
                "system_calls.csv",
                tables::system_calls,
                |it| it.slice,
            )?,
            timeline: table.of(Pass::Timeline, "timeline.csv", tables::timeline, |it| {
                it.slice
            })?,
            activity: table.of(Pass::Activity, "activity.csv", tables::activity, |it| {
                it.slice
            })?,
            slices,
            seen,
        })
    }
}

struct Tables<'a> {
    dir: &'a Path,
    seen: &'a Seen,
    known: BTreeSet<u64>,
}

impl Tables<'_> {
    /// A table of evidence that was unavailable need not be there.
    fn of<T>(
        &self,
        pass: Pass,
        name: &str,
        read: impl FnOnce(&Path) -> Result<Vec<T>>,
        slice: impl Fn(&T) -> u64,
    ) -> Result<Vec<T>> {
        let path = self.dir.join(name);
        let mut unavailable = self.seen.unavailable.iter();
        if !path.exists() && unavailable.any(|it| it.evidence == pass.name()) {
            return Ok(Vec::new());
        }
        let rows = read(&path)?;
        match rows
            .iter()
            .position(|row| !self.known.contains(&slice(row)))
        {
            None => Ok(rows),
            Some(at) => bail!(
                "{}: line {}: slice {} is not in slices.csv",
                path.display(),
                at + 2,
                slice(&rows[at])
            ),
        }
    }
}

fn seen(path: &Path) -> Result<Seen> {
    let at = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(at)?;
    serde_json::from_str(&text).with_context(at)
}

fn slices(path: &Path, variants: &[usize]) -> Result<Vec<Slice>> {
    let frame = of_sweep::read(path, of_sweep::SLICES, false)?;
    let (number, block) = (counts(&frame, "slice")?, counts(&frame, "block")?);
    let (variant, requests) = (counts(&frame, "variant")?, counts(&frame, "requests")?);
    let (start_ms, duration_ms) = (reals(&frame, "start_ms")?, reals(&frame, "duration_ms")?);
    let mut slices: Vec<Slice> = Vec::with_capacity(number.len());
    for (at, name) in words(&frame, "pass")?.into_iter().enumerate() {
        let line = at + 2;
        let pass = Pass::ALL.into_iter().find(|pass| pass.name() == name);
        let variant = usize::try_from(variant[at])?;
        if !variants.contains(&variant) {
            bail!("line {line}: variant {variant} is not one of explain.json's");
        }
        if slices.iter().any(|slice| slice.number == number[at]) {
            bail!("line {line}: slice {} is there twice", number[at]);
        }
        slices.push(Slice {
            number: number[at],
            pass: pass.ok_or_else(|| anyhow!("line {line}: unknown pass {name:?}"))?,
            block: block[at],
            variant,
            start_ms: start_ms[at],
            duration_ms: duration_ms[at],
            requests: requests[at],
        });
    }
    Ok(slices)
}

fn ends(path: &Path) -> Result<Vec<Ends>> {
    let frame = of_sweep::read(path, of_sweep::SITES, false)?;
    let (slice, polls) = (counts(&frame, "slice")?, counts(&frame, "polls")?);
    let (pending, lost) = (counts(&frame, "pending")?, counts(&frame, "lost")?);
    let children_lost = counts(&frame, "children_lost")?;
    let row = |(at, site): (usize, Site)| Ends {
        slice: slice[at],
        site,
        polls: polls[at],
        pending: pending[at],
        lost: lost[at],
        children_lost: children_lost[at],
    };
    let sites = sites(&frame).with_context(|| path.display().to_string())?;
    Ok(sites.into_iter().enumerate().map(row).collect())
}

/// Without the number of iterations.
fn bands(path: &Path) -> Result<Vec<Band>> {
    let frame = of_sweep::read(path, of_sweep::BANDS, false)?;
    let (slice, from_ns) = (counts(&frame, "slice")?, counts(&frame, "from_ns")?);
    let (polls, ns) = (counts(&frame, "polls")?, counts(&frame, "ns")?);
    let sites = sites(&frame).with_context(|| path.display().to_string())?;
    let mut sums: BTreeMap<(u64, Site, u64), (u64, u64)> = BTreeMap::new();
    for (at, site) in sites.into_iter().enumerate() {
        let sum = sums.entry((slice[at], site, from_ns[at])).or_default();
        sum.0 += polls[at];
        sum.1 += ns[at];
    }
    let band = |((slice, site, from_ns), (polls, ns))| Band {
        slice,
        site,
        from_ns,
        polls,
        ns,
    };
    Ok(sums.into_iter().map(band).collect())
}

fn children(path: &Path) -> Result<Vec<Child>> {
    let frame = of_sweep::read(path, of_sweep::CHILDREN, false)?;
    let (slice, from_ns) = (counts(&frame, "slice")?, counts(&frame, "from_ns")?);
    let child = words(&frame, "child")?;
    let (polls, ns) = (counts(&frame, "polls")?, counts(&frame, "ns")?);
    let row = |(at, site): (usize, Site)| Child {
        slice: slice[at],
        site,
        from_ns: from_ns[at],
        child: child[at].clone(),
        polls: polls[at],
        ns: ns[at],
    };
    let sites = sites(&frame).with_context(|| path.display().to_string())?;
    Ok(sites.into_iter().enumerate().map(row).collect())
}
