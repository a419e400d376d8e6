//! One run: its tables and histograms, put together slice by slice and checked against each other.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use run_format::histogram_tag::{HistogramOf, HistogramTag};
use run_format::run_row::RunRow;
use run_format::table::read_table;
use run_format::tables::{
    BandRow, BlockRow, BoundRow, ChildRow, IdleRow, Pass, PeerRow, QuicRow, SiteRow, SliceRow,
    TurnRow, WorkerRow,
};
use run_format::variant::BASELINE;
use run_format::{Site, files};

use super::blocks::{complete_blocks, set_aside};
use super::histograms::{self, HistogramsBySlice};
use super::loaded_run::{LoadedRun, LoadedSite, LoadedSlice};
use super::plausible;
use super::rows::{self, Row};
use crate::stats::Counts;

#[derive(Clone, Debug)]
pub(crate) struct RunFiles {
    pub(crate) dir: PathBuf,
    /// 0 where there is one program.
    pub(crate) subject: usize,
    /// The run's number, or that of its block where subjects are compared.
    pub(crate) number: u32,
    pub(crate) row: Option<RunRow>,
    pub(crate) is_application: bool,
}

impl RunFiles {
    /// Refuses files that are not those that the run wrote. Returns the names of others in its folder.
    pub(crate) fn check_files(&self) -> Result<Vec<String>> {
        let row = self.row.as_ref();
        row.map_or(Ok(Vec::new()), |row| row.check_files(&self.dir))
    }

    pub(crate) fn read(&self, variants: usize, keeps_disturbed: bool) -> Result<LoadedRun> {
        let path = self.dir.join(files::SLICES);
        let rows = self.table()?;
        check(&rows).with_context(|| path.display().to_string())?;
        let idle: Vec<IdleRow> = self.table()?;
        let idle = idle.first().copied();
        let floor_ns = idle.and_then(|idle| idle.wake_p50_ns).unwrap_or(0);
        let mut tables = self.tables(&rows)?;
        let slices = rows.into_iter().map(|row| tables.slice(row, floor_ns));
        let slices: Result<Vec<LoadedSlice>> = slices.collect();
        let slices = slices.with_context(|| self.dir.display().to_string())?;
        let path = path.display();
        let mut blocks = complete_blocks(slices.iter().map(|slice| &slice.row), variants)
            .with_context(|| path.to_string())?;
        let (found, reported) = (blocks.len(), self.row.as_ref().and_then(|row| row.blocks));
        if let Some(reported) = reported.filter(|reported| *reported as usize != found) {
            bail!("{path}: {found} complete blocks, but run.json says {reported}");
        }
        let all_blocks = blocks.clone();
        let machine: Vec<BlockRow> = self.table()?;
        let row = self.row.as_ref().filter(|_| !keeps_disturbed);
        let runtime = row.map(|row| &row.config.runtime);
        let number = |block: &Vec<usize>| block.first().map_or(0, |at| slices[*at].row.block);
        let (set_aside, kept) = set_aside(&machine, runtime, &mut blocks, number);
        let mut run = LoadedRun {
            subject: self.subject,
            number: self.number,
            row: self.row.clone(),
            is_application: self.is_application,
            slices,
            blocks,
            all_blocks,
            machine,
            idle,
            own_cpu_part: 0.0,
            work: self.table()?,
            set_aside,
            kept,
        };
        run.own_cpu_part = run.part_of_own_cpu();
        plausible::check(&run).with_context(|| self.dir.display().to_string())?;
        Ok(run)
    }

    fn tables(&self, slices: &[SliceRow]) -> Result<SliceTables> {
        let log = self.dir.join(files::HISTOGRAMS);
        // They add up to sites.csv, so that none is there twice.
        let bands: Vec<BandRow> = read_table(&self.dir.join(files::BANDS), self.row.is_none())?;
        let children: Vec<ChildRow> = self.table()?;
        let bounds: Vec<BoundRow> = self.table()?;
        Ok(SliceTables {
            histograms: histograms::read(&log, self.row.is_none(), slices, is_used)?,
            log,
            sites: grouped(self.table()?, |row| row.slice),
            bands: grouped(bands, |row| (row.slice, row.site)),
            children: grouped(children, |row| (row.slice, row.site)),
            bounds: grouped(bounds, |row| (row.slice, row.site)),
            turns: grouped(self.table()?, |row| row.slice),
            peers: grouped(self.table()?, |row| row.slice),
            workers: grouped(self.table()?, |row| row.slice),
            quic: grouped(self.table()?, |row| row.slice),
        })
    }

    fn table<T: Row>(&self) -> Result<Vec<T>> {
        rows::read(&self.dir, self.row.is_none())
    }
}

type Grouped<Key, T> = HashMap<Key, Vec<T>>;

fn grouped<Key: Hash + Eq, T>(rows: Vec<T>, key: impl Fn(&T) -> Key) -> Grouped<Key, T> {
    let mut groups = Grouped::new();
    for row in rows {
        let group: &mut Vec<T> = groups.entry(key(&row)).or_default();
        group.push(row);
    }
    groups
}

fn taken<Key: Hash + Eq, T>(groups: &mut Grouped<Key, T>, key: Key) -> Vec<T> {
    groups.remove(&key).unwrap_or_default()
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

/// The rows that are yet to be given to their slices. Of the slice in which a run was interrupted there are rows here, but
/// none in slices.csv.
struct SliceTables {
    histograms: HistogramsBySlice,
    log: PathBuf,
    sites: Grouped<u32, SiteRow>,
    bands: Grouped<(u32, Site), BandRow>,
    children: Grouped<(u32, Site), ChildRow>,
    bounds: Grouped<(u32, Site), BoundRow>,
    turns: Grouped<u32, TurnRow>,
    peers: Grouped<u32, PeerRow>,
    workers: Grouped<u32, WorkerRow>,
    quic: Grouped<u32, QuicRow>,
}

impl SliceTables {
    fn slice(&mut self, row: SliceRow, floor_ns: u64) -> Result<LoadedSlice> {
        let number = row.slice;
        let mut histograms = self.histograms.remove(&number).unwrap_or_default();
        if let Some(waits) = histograms.get_mut(&HistogramOf::CotenantWake) {
            *waits = mem::take(waits).less(floor_ns);
        }
        let mut sites = [const { None }; _];
        for site in taken(&mut self.sites, number) {
            let place = site.site as usize;
            sites[place] = Some(self.site(site, &row, &mut histograms)?);
        }
        Ok(LoadedSlice {
            sites,
            histograms,
            after_switch: taken(&mut self.turns, number),
            peers: taken(&mut self.peers, number),
            workers: taken(&mut self.workers, number),
            quic: taken(&mut self.quic, number).pop(),
            row,
        })
    }

    fn site(
        &mut self,
        row: SiteRow,
        slice: &SliceRow,
        histograms: &mut HashMap<HistogramOf, Counts>,
    ) -> Result<LoadedSite> {
        let (number, site, polls) = (row.slice, row.site, row.polls);
        // A histogram without values is not in the log.
        let mut histogram = |of| histograms.remove(&of).unwrap_or_default();
        let duration_ns: Counts = histogram(HistogramOf::Polls(site));
        let found = duration_ns.total();
        if found != polls && slice.pass != Pass::Children {
            let log = self.log.display();
            bail!("sites.csv: {polls} polls of {site} in slice {number}, but {found} in {log}");
        }
        let has_longest =
            slice.pass != Pass::Children && slice.variant == BASELINE && row.iterations.is_some();
        let longest = has_longest.then(|| histogram(HistogramOf::LongestIteration(site)));
        Ok(LoadedSite {
            duration_ns,
            longest_iteration_ns: longest,
            bands: taken(&mut self.bands, (number, site)),
            children: taken(&mut self.children, (number, site)),
            bounds: taken(&mut self.bounds, (number, site)),
            row,
        })
    }
}
