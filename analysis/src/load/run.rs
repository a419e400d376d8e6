//! Reads one run: puts its tables and histograms together slice by slice, and checks them against each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use run_format::counts::Counts;
use run_format::{
    BASELINE, BandRow, BlockRow, BoundRow, ChildRow, Disturbance, HistogramOf, HistogramTag,
    IdleRow, Pass, PeerRow, QuicRow, RunRow, Site, SiteRow, SliceRow, TurnRow, WorkerRow, files,
};

use super::histograms::{self, HistogramsBySlice};
use super::loaded_run::{CompleteBlock, Disturbances, LoadedRun, LoadedSite, LoadedSlice};
use super::plausible;
use super::rows::{self, Row};

#[derive(Clone, Debug)]
pub(crate) struct RunFiles {
    pub(crate) dir: PathBuf,
    /// The index of the subject, 0 if there is only one.
    pub(crate) subject: usize,
    /// The number of the run. If subjects are compared, launches of the same number were measured together.
    pub(crate) number: u32,
    pub(crate) row: Option<RunRow>,
    pub(crate) is_application: bool,
}

impl RunFiles {
    /// Refuses files that are not as the run wrote them. Returns the names of other files in its folder.
    pub(crate) fn check_files(&self) -> Result<Vec<String>> {
        let row = self.row.as_ref();
        row.map_or(Ok(Vec::new()), |row| row.check_files(&self.dir))
    }

    pub(crate) fn read(&self, variants: usize) -> Result<LoadedRun> {
        let path = self.dir.join(files::SLICES);
        let rows = self.table()?;
        check_slices(&rows).with_context(|| path.display().to_string())?;
        let idle = self.table::<IdleRow>()?.first().copied();
        let floor_ns = idle.and_then(|idle| idle.wake_p50_ns).unwrap_or(0);
        let slices = self.slices(rows, floor_ns)?;
        let mut blocks = complete_blocks(slices.iter().map(|slice| &slice.row), variants)
            .with_context(|| path.display().to_string())?;
        let (found, reported) = (blocks.len(), self.row.as_ref().and_then(|row| row.blocks));
        if let Some(reported) = reported.filter(|reported| *reported as usize != found) {
            bail!(
                "{}: {found} complete blocks, but run.json says {reported}",
                path.display()
            );
        }
        let block_rows: Vec<BlockRow> = self.table()?;
        let set_aside = set_aside(&block_rows, &mut blocks, |block| block.number);
        let run = LoadedRun {
            dir: self.dir.clone(),
            subject: self.subject,
            number: self.number,
            row: self.row.clone(),
            is_application: self.is_application,
            slices,
            blocks,
            block_rows,
            idle,
            benchmark_cpu_per_time: None,
            work: self.table()?,
            set_aside,
        };
        plausible::check(&run).with_context(|| self.dir.display().to_string())?;
        Ok(run)
    }

    /// Puts the rows of all tables and the histograms together by slice. The slice in which a run was interrupted is left out:
    /// tables have rows about it, but slices.csv has none.
    fn slices(&self, rows: Vec<SliceRow>, floor_ns: u64) -> Result<Vec<LoadedSlice>> {
        let log = self.dir.join(files::HISTOGRAMS);
        let mut histograms = histograms::read(&log, self.row.is_none(), &rows, is_used)?;
        let mut known: BTreeSet<RowKey> = rows.iter().map(|row| (row.slice, None)).collect();
        let mut sites = self.sites(&rows, &mut known, &mut histograms)?;
        let mut turns = self.grouped(&known, |row: &TurnRow| (row.slice, None))?;
        let mut peers = self.grouped(&known, |row: &PeerRow| (row.slice, None))?;
        let mut workers = self.grouped(&known, |row: &WorkerRow| (row.slice, None))?;
        let mut quic = self.grouped(&known, |row: &QuicRow| (row.slice, None))?;
        let slice = |row: SliceRow| {
            let (number, key) = (row.slice, (row.slice, None));
            let mut counts = histograms.remove(&number).unwrap_or_default();
            if let Some(waits) = counts.get_mut(&HistogramOf::CotenantWake) {
                *waits = mem::take(waits).less(floor_ns);
            }
            LoadedSlice {
                sites: sites.remove(&number).unwrap_or_default(),
                histograms: counts,
                after_switch: taken(&mut turns, key),
                peers: taken(&mut peers, key),
                workers: taken(&mut workers, key),
                quic: taken(&mut quic, key).pop(),
                row,
            }
        };
        Ok(rows.into_iter().map(slice).collect())
    }

    /// Puts the rows about sites together by slice, with their histograms. Adds the keys of the sites to the known ones.
    fn sites(
        &self,
        rows: &[SliceRow],
        known: &mut BTreeSet<RowKey>,
        histograms: &mut HistogramsBySlice,
    ) -> Result<HashMap<u32, [Option<LoadedSite>; Site::ALL.len()]>> {
        let mut site_rows = self.grouped(known, |row: &SiteRow| (row.slice, None))?;
        let polled = site_rows.values().flatten();
        known.extend(polled.map(|row| (row.slice, Some(row.site))));
        let mut bands = self.grouped(known, |row: &BandRow| (row.slice, Some(row.site)))?;
        let mut children = self.grouped(known, |row: &ChildRow| (row.slice, Some(row.site)))?;
        let mut bounds = self.grouped(known, |row: &BoundRow| (row.slice, Some(row.site)))?;
        let mut found = HashMap::new();
        for row in rows {
            let has_polls = row.pass != Pass::Children;
            // A histogram without values is not in the log.
            let mut histogram = |of: HistogramOf| {
                let counts = histograms.get_mut(&row.slice);
                let counted = counts.and_then(|counts| counts.remove(&of));
                counted.unwrap_or_default()
            };
            let mut sites = [const { None }; _];
            for site_row in taken(&mut site_rows, (row.slice, None)) {
                let (site, polls, slice) = (site_row.site, site_row.polls, row.slice);
                let duration_ns: Counts = histogram(HistogramOf::Polls(site));
                let in_log = duration_ns.total();
                if in_log != polls && has_polls {
                    let (dir, log) = (self.dir.display(), self.dir.join(files::HISTOGRAMS));
                    bail!(
                        "{dir}: sites.csv: {polls} polls of {site} in slice {slice}, but {in_log} in {}",
                        log.display()
                    );
                }
                let has_longest =
                    has_polls && row.variant == BASELINE && site_row.iterations.is_some();
                let longest = has_longest.then(|| histogram(HistogramOf::LongestIteration(site)));
                let key = (slice, Some(site));
                sites[site as usize] = Some(LoadedSite {
                    row: site_row,
                    duration_ns,
                    longest_iteration_ns: longest,
                    bands: taken(&mut bands, key),
                    children: taken(&mut children, key),
                    bounds: taken(&mut bounds, key),
                });
            }
            found.insert(row.slice, sites);
        }
        Ok(found)
    }

    /// Reads a table and groups its rows by key. Refuses a row whose key is not known. A run that was killed may have rows
    /// about the slice in which it was. They are left out.
    fn grouped<T: Row>(
        &self,
        known: &BTreeSet<RowKey>,
        key: impl Fn(&T) -> RowKey,
    ) -> Result<HashMap<RowKey, Vec<T>>> {
        let mut groups: HashMap<RowKey, Vec<T>> = HashMap::new();
        for row in self.table::<T>()? {
            groups.entry(key(&row)).or_default().push(row);
        }
        groups.retain(|(slice, _), _| self.row.is_some() || known.contains(&(*slice, None)));
        let strays = groups.keys().filter(|key| !known.contains(key));
        let names = strays.map(|key| match *key {
            (slice, None) => (slice, format!("slice {slice}"), files::SLICES),
            (slice, Some(site)) => (slice, format!("{site} of slice {slice}"), files::SITES),
        });
        if let Some((_, name, other)) = names.min() {
            let path = self.dir.join(T::FILE);
            let path = path.display();
            bail!("{path}: {name} has a row here, but none in {other}");
        }
        Ok(groups)
    }

    fn table<T: Row>(&self) -> Result<Vec<T>> {
        rows::read(&self.dir, self.row.is_none())
    }
}

/// What a row is about: a slice, or a site in a slice.
type RowKey = (u32, Option<Site>);

fn taken<T>(groups: &mut HashMap<RowKey, Vec<T>>, key: RowKey) -> Vec<T> {
    groups.remove(&key).unwrap_or_default()
}

fn check_slices(rows: &[SliceRow]) -> Result<()> {
    for (index, row) in rows.iter().enumerate() {
        let line = index + 2;
        if index > 0 && row.slice <= rows[index - 1].slice {
            bail!("line {line}: the number of the slice does not go up");
        }
        if !matches!(row.pass, Pass::Compare | Pass::Children) {
            bail!("line {line}: no sweep has a pass \"{}\"", row.pass);
        }
    }
    Ok(())
}

/// Whether reports need a histogram. They do not need those of the pass `children`, whose content is in tables.
fn is_used(tag: HistogramTag) -> bool {
    let is_kind_used = match tag.of {
        HistogramOf::LongestIteration(_) => tag.variant == BASELINE,
        HistogramOf::PeerLatency(_)
        | HistogramOf::PollsByWall(_)
        | HistogramOf::CotenantWakeByWall => false,
        _ => true,
    };
    is_kind_used && tag.pass == Pass::Compare
}

/// Finds the blocks in which every variant has a slice.
pub(super) fn complete_blocks<'a>(
    slices: impl Iterator<Item = &'a SliceRow>,
    variants: usize,
) -> Result<Vec<CompleteBlock>> {
    let mut blocks: BTreeMap<u32, Vec<Option<usize>>> = BTreeMap::new();
    for (index, slice) in slices
        .enumerate()
        .filter(|(_, slice)| slice.pass == Pass::Compare)
    {
        let (line, number, variant) = (index + 2, slice.block, slice.variant);
        let block = blocks.entry(number).or_insert_with(|| vec![None; variants]);
        let Some(slice) = block.get_mut(variant) else {
            bail!("line {line}: there is no variant {variant}");
        };
        if slice.replace(index).is_some() {
            bail!("line {line}: block {number} has variant {variant} twice");
        }
    }
    let complete = |(number, slices): (u32, Vec<Option<usize>>)| {
        let slices = slices.into_iter().collect::<Option<_>>()?;
        Some(CompleteBlock { number, slices })
    };
    Ok(blocks.into_iter().filter_map(complete).collect())
}

/// Removes disturbed blocks. Returns how many blocks each disturbance cost.
pub(super) fn set_aside<T>(
    block_rows: &[BlockRow],
    blocks: &mut Vec<T>,
    number: impl Fn(&T) -> u32,
) -> Disturbances {
    let disturbance = |row: &BlockRow| Some((row.block, row.disturbance()?));
    let disturbed: BTreeMap<u32, Disturbance> = block_rows.iter().filter_map(disturbance).collect();
    let mut removed = Disturbances::new();
    blocks.retain(|block| match disturbed.get(&number(block)) {
        None => true,
        Some(disturbance) => {
            *removed.entry(*disturbance).or_default() += 1;
            false
        }
    });
    removed
}
