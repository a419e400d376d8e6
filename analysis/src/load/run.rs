//! One run: its tables and histograms, put together slice by slice and checked against each other.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use polars::prelude::DataFrame;

use super::{
    blocks::{Turn, complete_blocks},
    histograms::{self, BySlice, start_key},
    run_row::RunRow,
    slice::{Pass, SiteSlice, Slice},
    tables::{self, counts, maybe_counts, maybe_reals, reals, sites, words},
};
use crate::{site::Site, stats::Counts};

/// Where a run is.
#[derive(Clone, Debug)]
pub(crate) struct RunFiles {
    pub(crate) dir: PathBuf,
    /// 0 where there is one program.
    pub(crate) subject: usize,
    /// The run's number, or that of its block where subjects are compared.
    pub(crate) number: u32,
    /// Absent if the run did not come to an end.
    pub(crate) row: Option<RunRow>,
}

/// A run with everything that was seen in it.
pub(crate) struct Run {
    pub(crate) subject: usize,
    pub(crate) number: u32,
    pub(crate) row: Option<RunRow>,
    /// In the order of time.
    pub(crate) slices: Vec<Slice>,
    /// The complete blocks: in each the slices of every variant, by variant.
    pub(crate) blocks: Vec<Vec<usize>>,
    pub(crate) bands: Vec<Band>,
    pub(crate) children: Vec<ChildTime>,
}

/// Polls of a site that took as long as the band has it and iterated as often: a row of `bands.csv`.
pub(crate) struct Band {
    /// Its index among the run's.
    pub(crate) slice: usize,
    pub(crate) site: Site,
    pub(crate) from_ns: u64,
    pub(crate) iterations: u64,
    pub(crate) polls: u64,
    pub(crate) ns: u64,
}

/// The time of a child in polls of a band: a row of `children.csv`.
pub(crate) struct ChildTime {
    pub(crate) site: Site,
    pub(crate) from_ns: u64,
    pub(crate) child: String,
    pub(crate) ns: u64,
}

const WORKER: [&str; 3] = ["latency", "cotenant-wake", "cotenant-timer"];
const BASELINE: &str = "0";
const LONGEST: &str = "-longest-iteration";

impl RunFiles {
    pub(crate) fn read(&self, variants: usize) -> Result<Run> {
        let torn = self.row.is_none();
        let table = |name: &str, columns| tables::read(&self.dir.join(name), columns, torn);
        let slices = table("slices.csv", tables::SLICES)?;
        let sites = table("sites.csv", tables::SITES)?;
        let bands = table("bands.csv", tables::BANDS)?;
        let children = table("children.csv", tables::CHILDREN)?;
        let log = self.dir.join("histograms.hlog");
        let histograms = histograms::read(&log, torn, wanted)?;
        let numbers = counts(&slices, "slice")?;
        let slices = Assembly {
            histograms,
            log: &log,
        }
        .slices(&slices, &sites)
        .with_context(|| self.dir.display().to_string())?;
        let compared = slices.iter().enumerate();
        let compared = compared.filter(|(_, slice)| slice.pass == Pass::Compare);
        let turns = compared.map(|(at, slice)| Turn {
            slice: at,
            block: slice.block,
            variant: slice.variant,
        });
        let blocks = complete_blocks(turns, variants)
            .with_context(|| self.dir.join("slices.csv").display().to_string())?;
        if let Some(told) = self.row.as_ref().and_then(|row| row.blocks)
            && told as usize != blocks.len()
        {
            bail!(
                "{}: {} complete blocks, but run.json says {told}",
                self.dir.join("slices.csv").display(),
                blocks.len()
            );
        }
        let places = numbers.into_iter().zip(0..).collect();
        let bands = band_rows(&bands, &places)
            .with_context(|| self.dir.join("bands.csv").display().to_string())?;
        let children = child_rows(&children, &places)
            .with_context(|| self.dir.join("children.csv").display().to_string())?;
        Ok(Run {
            subject: self.subject,
            number: self.number,
            row: self.row.clone(),
            slices,
            blocks,
            bands,
            children,
        })
    }
}

/// The name of a histogram without its variant, if it is of use. Those of the pass `children` are not:
/// what they say is in the tables.
fn wanted(tag: &str) -> Option<String> {
    let (what, variant) = tag.split_once(".v")?;
    if variant.ends_with(".children") {
        return None;
    }
    let site = match what.strip_suffix(LONGEST) {
        Some(_) if variant != BASELINE => return None,
        Some(site) => site,
        None => what,
    };
    (WORKER.contains(&what) || site.parse::<Site>().is_ok()).then(|| what.to_owned())
}

struct Assembly<'a> {
    histograms: BySlice,
    log: &'a Path,
}

impl Assembly<'_> {
    fn slices(mut self, frame: &DataFrame, sites: &DataFrame) -> Result<Vec<Slice>> {
        let mut sites = by_slice(sites)?;
        let numbers = counts(frame, "slice")?;
        let start_ms = reals(frame, "start_ms")?;
        let rows = worker_rows(frame)?;
        let mut slices = Vec::with_capacity(rows.len());
        for ((number, start_ms), mut slice) in numbers.into_iter().zip(start_ms).zip(rows) {
            let start = start_key(start_ms);
            for (site, row) in sites.remove(&number).unwrap_or_default() {
                slice.sites[site as usize] =
                    Some(self.site(start, site, row, (slice.pass, slice.variant == 0))?);
            }
            slice.latency_ns = self.take(start, WORKER[0]);
            slice.cotenant_wake_ns = self.take(start, WORKER[1]);
            slice.cotenant_timer_ns = self.take(start, WORKER[2]);
            slices.push(slice);
        }
        Ok(slices)
    }

    /// A histogram without values is not in the log.
    fn take(&mut self, start: u64, what: &str) -> Counts {
        self.histograms
            .remove(&(start, what.to_owned()))
            .unwrap_or_default()
    }

    fn site(
        &mut self,
        start: u64,
        site: Site,
        row: SiteSlice,
        (pass, is_baseline): (Pass, bool),
    ) -> Result<SiteSlice> {
        if pass == Pass::Children {
            return Ok(row);
        }
        let duration_ns = self.take(start, site.name());
        let longest_iteration_ns =
            is_baseline.then(|| self.take(start, &format!("{site}{LONGEST}")));
        if duration_ns.total() != row.polls {
            bail!(
                "sites.csv: {} polls of {site} in the slice at {start} ms, but {} in {}",
                row.polls,
                duration_ns.total(),
                self.log.display()
            );
        }
        Ok(SiteSlice {
            duration_ns,
            longest_iteration_ns,
            ..row
        })
    }
}

type SitesBySlice = BTreeMap<u64, Vec<(Site, SiteSlice)>>;

fn by_slice(frame: &DataFrame) -> Result<SitesBySlice> {
    let column = |name| counts(frame, name);
    let (slice, polls, yielded) = (column("slice")?, column("polls")?, column("yielded")?);
    let (iterations, total_ns) = (column("iterations")?, column("total_ns")?);
    let (lost, children_lost) = (column("lost")?, column("children_lost")?);
    let mut sites = SitesBySlice::new();
    for (at, name) in words(frame, "site")?.into_iter().enumerate() {
        let site: Site = name
            .parse()
            .map_err(|error| anyhow!("sites.csv: {error}"))?;
        let row = SiteSlice {
            polls: polls[at],
            yielded: yielded[at],
            iterations: iterations[at],
            total_ns: total_ns[at],
            lost: lost[at] + children_lost[at],
            duration_ns: Counts::default(),
            longest_iteration_ns: None,
        };
        sites.entry(slice[at]).or_default().push((site, row));
    }
    Ok(sites)
}

/// The rows of `slices.csv`, with nothing of the sites yet.
fn worker_rows(frame: &DataFrame) -> Result<Vec<Slice>> {
    let count = |name| counts(frame, name);
    let maybe = |name| maybe_counts(frame, name);
    let (block, variant) = (count("block")?, count("variant")?);
    let (duration_ms, sampled_ms) = (reals(frame, "duration_ms")?, reals(frame, "sampled_ms")?);
    let (requests, lost_entries) = (count("requests")?, count("lost_entries")?);
    let (cpu, runqueue) = (maybe("central_cpu_ns")?, maybe("central_runqueue_ns")?);
    let user_ms = maybe_reals(frame, "central_user_ms")?;
    let system_ms = maybe_reals(frame, "central_system_ms")?;
    let involuntary = maybe("central_involuntary_switches")?;
    let steal_ms = maybe_reals(frame, "steal_ms")?;
    let (again, theirs) = (
        maybe("central_tcp_retransmits")?,
        maybe("peers_tcp_retransmits")?,
    );
    let (monitor_polls, monitor_ns) = (count("monitor_task_polls")?, count("monitor_task_ns")?);
    let monitor_slow = count("monitor_slow_task_polls")?;
    let mut rows = Vec::with_capacity(block.len());
    for (at, pass) in words(frame, "pass")?.into_iter().enumerate() {
        let pass = match pass.as_str() {
            "compare" => Pass::Compare,
            "children" => Pass::Children,
            other => bail!("slices.csv: line {}: unknown pass {other:?}", at + 2),
        };
        rows.push(Slice {
            pass,
            block: block[at],
            variant: usize::try_from(variant[at])?,
            duration_ms: duration_ms[at],
            sampled_ms: sampled_ms[at],
            requests: requests[at],
            lost_entries: lost_entries[at],
            central_cpu_ns: cpu[at],
            central_runqueue_ns: runqueue[at],
            central_user_ms: user_ms[at],
            central_system_ms: system_ms[at],
            involuntary_switches: involuntary[at],
            steal_ms: steal_ms[at],
            retransmits: sum(again[at], theirs[at]),
            monitor_task_polls: monitor_polls[at],
            monitor_task_ns: monitor_ns[at],
            monitor_slow_task_polls: monitor_slow[at],
            sites: Default::default(),
            latency_ns: Counts::default(),
            cotenant_wake_ns: Counts::default(),
            cotenant_timer_ns: Counts::default(),
        });
    }
    Ok(rows)
}

/// Half of a sum would look like all of it.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one? + other?)
}

/// Slices by number.
type Places = BTreeMap<u64, usize>;

/// Without the rows of a slice that is not in the table, as an interrupted run has them.
fn band_rows(frame: &DataFrame, places: &Places) -> Result<Vec<Band>> {
    let count = |name| counts(frame, name);
    let (slice, from_ns) = (count("slice")?, count("from_ns")?);
    let (iterations, polls, ns) = (count("iterations")?, count("polls")?, count("ns")?);
    let mut bands = Vec::with_capacity(slice.len());
    for (at, site) in sites(frame)?.into_iter().enumerate() {
        if let Some(&slice) = places.get(&slice[at]) {
            bands.push(Band {
                slice,
                site,
                from_ns: from_ns[at],
                iterations: iterations[at],
                polls: polls[at],
                ns: ns[at],
            });
        }
    }
    Ok(bands)
}

/// Likewise.
fn child_rows(frame: &DataFrame, places: &Places) -> Result<Vec<ChildTime>> {
    let count = |name| counts(frame, name);
    let (slice, from_ns, ns) = (count("slice")?, count("from_ns")?, count("ns")?);
    let sites = sites(frame)?;
    let mut times = Vec::with_capacity(slice.len());
    for (at, child) in words(frame, "child")?.into_iter().enumerate() {
        if places.contains_key(&slice[at]) {
            times.push(ChildTime {
                site: sites[at],
                from_ns: from_ns[at],
                child,
                ns: ns[at],
            });
        }
    }
    Ok(times)
}
