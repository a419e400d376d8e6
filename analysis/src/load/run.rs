//! One run: its tables and histograms, put together slice by slice and checked against each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use run_format::{
    Budgets, files,
    histogram_tag::{HistogramOf, HistogramTag},
    run_row::RunRow,
    table::read_table,
    tables::{
        BandRow, BlockRow, BoundRow, ChildRow, IdleRow, Pass, PeerRow, QuicRow, SiteRow, SliceRow,
        TurnRow, WorkRow,
    },
    variant::BASELINE,
};

use super::{
    blocks::{Disturbed, complete_blocks},
    histograms::{self, HistogramsBySlice},
    loaded_run::{LoadedRun, LoadedSite, LoadedSlice},
    plausible,
    rows::{self, Row},
};
use crate::stats::Counts;

#[derive(Clone, Debug)]
pub(crate) struct RunFiles {
    pub(crate) dir: PathBuf,
    /// 0 where there is one program.
    pub(crate) subject: usize,
    /// The run's number, or that of its block where subjects are compared.
    pub(crate) number: u32,
    pub(crate) row: Option<RunRow>,
}

impl RunFiles {
    /// Refuses files that are not those that the run wrote. Returns the names of others in its folder.
    pub(crate) fn check_files(&self) -> Result<Vec<String>> {
        let row = self.row.as_ref();
        row.map_or(Ok(Vec::new()), |row| row.check_files(&self.dir))
    }

    pub(crate) fn read(&self, variants: usize, disturbed: Disturbed) -> Result<LoadedRun> {
        let path = self.dir.join(files::SLICES);
        let rows = self.table(files::SLICES)?;
        check(&rows).with_context(|| path.display().to_string())?;
        let (sites, turns) = (self.table(files::SITES)?, self.table(files::TURNS)?);
        let quic = self.table_if_there(files::QUIC)?;
        let idle: Vec<IdleRow> = self.table_if_there(files::IDLE)?;
        let work: Vec<WorkRow> = self.table_if_there(files::WORK)?;
        let log = self.dir.join(files::HISTOGRAMS);
        let assembly = SliceAssembly {
            histograms: histograms::read(&log, self.row.is_none(), &rows, is_used)?,
            log: &log,
            idle: idle.first().copied(),
        };
        let slices = assembly.slices(rows, sites, turns, quic, &work);
        let slices = slices.with_context(|| self.dir.display().to_string())?;
        let path = path.display();
        let mut blocks = complete_blocks(slices.iter().map(|it| &it.row), variants)
            .with_context(|| path.to_string())?;
        let (found, reported) = (blocks.len(), self.row.as_ref().and_then(|row| row.blocks));
        if let Some(reported) = reported.filter(|reported| *reported as usize != found) {
            bail!("{path}: {found} complete blocks, but run.json says {reported}");
        }
        let machine: Vec<BlockRow> = self.table(files::BLOCKS)?;
        let all_blocks = blocks.clone();
        let runtime = self.row.as_ref().map(|row| &row.config.runtime);
        let number = |block: &Vec<usize>| block.first().map_or(0, |at| slices[*at].row.block);
        let (set_aside, kept) = disturbed.set_aside((&machine, runtime), &mut blocks, number);
        let mut run = LoadedRun {
            subject: self.subject,
            number: self.number,
            row: self.row.clone(),
            slices,
            all_blocks: (all_blocks != blocks).then_some(all_blocks),
            blocks,
            machine,
            work,
            set_aside,
            kept,
            bands: Vec::new(),
            children: Vec::new(),
            bounds: Vec::new(),
            workers: self.table_if_there(files::WORKERS)?,
        };
        // The slice in which a run was interrupted has rows here, but none in slices.csv.
        // They add up to sites.csv, so that none is there twice.
        let mut bands: Vec<BandRow> = read_table(&self.dir.join(files::BANDS), self.row.is_none())?;
        bands.retain(|band| run.slice(band.slice).is_some());
        bands.shrink_to_fit();
        let mut children: Vec<ChildRow> = self.table(files::CHILDREN)?;
        children.retain(|child| run.slice(child.slice).is_some());
        children.shrink_to_fit();
        (run.bands, run.children) = (bands, children);
        run.bounds = self.bounds(&run)?;
        let peers: Vec<PeerRow> = self.table(files::PEERS)?;
        plausible::check(&run, &peers).with_context(|| self.dir.display().to_string())?;
        Ok(run)
    }

    fn bounds(&self, run: &LoadedRun) -> Result<Vec<BoundRow>> {
        let first_slices = run.blocks.iter().filter_map(|block| block.first());
        let blocks: BTreeSet<u32> = first_slices.map(|at| run.slices[*at].row.block).collect();
        let mut whole = Vec::new();
        for row in self.table::<BoundRow>(files::BOUNDS)? {
            let slice = run.slice(row.slice);
            let Some((slice, site)) = slice.and_then(|it| Some((it, it.site(row.site)?))) else {
                continue;
            };
            let BoundRow {
                slice: number,
                site: of,
                pieces,
                ..
            } = row;
            let polls = site.row.polls;
            if row.budget == Budgets::NONE && pieces != polls {
                let path = self.dir.join(files::BOUNDS);
                let path = path.display();
                bail!("{path}: {pieces} polls of {of} in slice {number}, but {polls} in sites.csv");
            }
            if blocks.contains(&slice.row.block) && site.lost() == 0 {
                whole.push(row);
            }
        }
        Ok(whole)
    }

    fn table_if_there<T: Row>(&self, name: &str) -> Result<Vec<T>> {
        rows::read_if_there(&self.dir.join(name), self.row.is_none())
    }

    fn table<T: Row>(&self, name: &str) -> Result<Vec<T>> {
        rows::read(&self.dir.join(name), self.row.is_none())
    }
}

fn by_slice<T>(rows: Vec<T>, slice: fn(&T) -> u32) -> BTreeMap<u32, Vec<T>> {
    let mut by_slice: BTreeMap<u32, Vec<T>> = BTreeMap::new();
    for row in rows {
        by_slice.entry(slice(&row)).or_default().push(row);
    }
    by_slice
}

fn check(rows: &[SliceRow]) -> Result<()> {
    for (at, row) in rows.iter().enumerate() {
        let line = at + 2;
        if at > 0 && row.slice <= rows[at - 1].slice {
            bail!("line {line}: the number of the slice does not go up");
        }
        if !matches!(row.pass, Pass::Compare | Pass::Children) {
            bail!("line {line}: no sweep has a pass \"{}\"", row.pass);
        }
    }
    Ok(())
}

/// Whether a histogram is of use. Those of the pass `children` are not: the tables have their content.
fn is_used(tag: HistogramTag) -> bool {
    let is_used = match tag.of {
        HistogramOf::LongestIteration(_) => tag.variant == BASELINE,
        HistogramOf::PeerLatency(_) => false,
        _ => true,
    };
    is_used && tag.pass == Pass::Compare
}

struct SliceAssembly<'a> {
    histograms: HistogramsBySlice,
    log: &'a Path,
    idle: Option<IdleRow>,
}

impl SliceAssembly<'_> {
    fn slices(
        mut self,
        rows: Vec<SliceRow>,
        sites: Vec<SiteRow>,
        turns: Vec<TurnRow>,
        quic: Vec<QuicRow>,
        work: &[WorkRow],
    ) -> Result<Vec<LoadedSlice>> {
        let mut after_switch = by_slice(turns, |row| row.slice);
        let mut of_slices = by_slice(sites, |row| row.slice);
        let quic = quic.into_iter().map(|row| (row.slice, row));
        let quic: BTreeMap<u32, QuicRow> = quic.collect();
        let floor_ns = self.idle.and_then(|idle| idle.wake_p50_ns).unwrap_or(0);
        let mut slices = Vec::with_capacity(rows.len());
        for row in rows {
            let mut sites = [const { None }; _];
            for of_site in of_slices.remove(&row.slice).unwrap_or_default() {
                let site = of_site.site;
                sites[site as usize] = Some(self.site(of_site, &row)?);
            }
            slices.push(LoadedSlice {
                sites,
                latency_ns: self.take(row.slice, HistogramOf::Latency),
                cotenant_wake_ns: self
                    .take(row.slice, HistogramOf::CotenantWake)
                    .less(floor_ns),
                cotenant_timer_ns: self.take(row.slice, HistogramOf::CotenantTimer),
                cotenant_same_worker_ns: self.take(row.slice, HistogramOf::CotenantSameWorker),
                after_switch: after_switch.remove(&row.slice).unwrap_or_default(),
                quic: quic.get(&row.slice).copied(),
                idle: self.idle,
                work_ns: work
                    .iter()
                    .find(|it| it.block == row.block)
                    .map(|it| it.work_ns),
                row,
            });
        }
        Ok(slices)
    }

    /// A histogram without values is not in the log.
    fn take(&mut self, slice: u32, of: HistogramOf) -> Counts {
        self.histograms.remove(&(slice, of)).unwrap_or_default()
    }

    fn site(&mut self, row: SiteRow, slice: &SliceRow) -> Result<LoadedSite> {
        let mut loaded = LoadedSite {
            row,
            duration_ns: Counts::default(),
            longest_iteration_ns: None,
        };
        if slice.pass == Pass::Children {
            return Ok(loaded);
        }
        let (site, polls) = (loaded.row.site, loaded.row.polls);
        loaded.duration_ns = self.take(slice.slice, HistogramOf::Polls(site));
        let found = loaded.duration_ns.total();
        if found != polls {
            let (number, log) = (slice.slice, self.log.display());
            bail!("sites.csv: {polls} polls of {site} in slice {number}, but {found} in {log}");
        }
        if slice.variant == BASELINE && loaded.row.iterations.is_some() {
            let longest = self.take(slice.slice, HistogramOf::LongestIteration(site));
            loaded.longest_iteration_ns = Some(longest);
        }
        Ok(loaded)
    }
}
