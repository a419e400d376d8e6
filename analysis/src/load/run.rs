//! Reads one run: puts its tables and histograms together slice by slice, and checks them against each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::mem;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use run_format::counts::Counts;
use run_format::{
    BASELINE, BandRow, BlockRow, BoundRow, ChildRow, Disturbance, HistogramOf, HistogramTag,
    IdleRow, Pass, PeerRow, QuicRow, RunRow, Site, SiteRow, SliceRow, TurnRow, WorkerRow, files,
    read_table,
};

use super::loaded_run::{Disturbances, LoadedRun, LoadedSite, LoadedSlice};
use super::rows::{self, Row};
use super::{histograms, plausible};

#[derive(Clone, Debug)]
pub(crate) struct RunFiles {
    pub(crate) dir: PathBuf,
    /// The index of the program, 0 if there is only one.
    pub(crate) subject: usize,
    /// The number of the run. If subjects are compared, launches of the same number are one block.
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
        let number = |block: &Vec<usize>| block.first().map_or(0, |index| slices[*index].row.block);
        let set_aside = set_aside(&block_rows, &mut blocks, number);
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
            own_cpu_share: None,
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
        // Bands are not checked for repeated rows: with one, the bands would not add up to sites.csv.
        let rows_of_bands: Vec<BandRow> =
            read_table(&self.dir.join(files::BANDS), self.row.is_none())?;
        let mut bands = grouped(rows_of_bands, |row| (row.slice, row.site));
        let mut children = grouped(self.table()?, |row: &ChildRow| (row.slice, row.site));
        let mut bounds = grouped(self.table()?, |row: &BoundRow| (row.slice, row.site));
        let mut by_slice = histograms::read(&log, self.row.is_none(), &rows, is_used)?;
        let mut sites = grouped(self.table()?, |row: &SiteRow| row.slice);
        let mut turns = grouped(self.table()?, |row: &TurnRow| row.slice);
        let mut peers = grouped(self.table()?, |row: &PeerRow| row.slice);
        let mut workers = grouped(self.table()?, |row: &WorkerRow| row.slice);
        let mut quic = grouped(self.table()?, |row: &QuicRow| row.slice);
        let numbers: BTreeSet<u32> = rows.iter().map(|row| row.slice).collect();
        let slice = |row: SliceRow| {
            let number = row.slice;
            let mut histograms = by_slice.remove(&number).unwrap_or_default();
            if let Some(waits) = histograms.get_mut(&HistogramOf::CotenantWake) {
                *waits = mem::take(waits).less(floor_ns);
            }
            // A histogram without values is not in the log.
            let mut histogram = |kind| histograms.remove(&kind).unwrap_or_default();
            let has_polls = row.pass != Pass::Children;
            let mut loaded = [const { None }; _];
            for site_row in taken(&mut sites, number) {
                let (site, polls) = (site_row.site, site_row.polls);
                let duration_ns: Counts = histogram(HistogramOf::Polls(site));
                let found = duration_ns.total();
                if found != polls && has_polls {
                    let (dir, log) = (self.dir.display(), log.display());
                    bail!(
                        "{dir}: sites.csv: {polls} polls of {site} in slice {number}, but {found} in {log}"
                    );
                }
                let has_longest =
                    has_polls && row.variant == BASELINE && site_row.iterations.is_some();
                let longest = has_longest.then(|| histogram(HistogramOf::LongestIteration(site)));
                loaded[site as usize] = Some(LoadedSite {
                    row: site_row,
                    duration_ns,
                    longest_iteration_ns: longest,
                    bands: taken(&mut bands, (number, site)),
                    children: taken(&mut children, (number, site)),
                    bounds: taken(&mut bounds, (number, site)),
                });
            }
            Ok(LoadedSlice {
                sites: loaded,
                histograms,
                after_switch: taken(&mut turns, number),
                peers: taken(&mut peers, number),
                workers: taken(&mut workers, number),
                quic: taken(&mut quic, number).pop(),
                row,
            })
        };
        let slices = rows.into_iter().map(slice).collect::<Result<Vec<_>>>()?;
        let has_slice = |slice: u32| self.row.is_some() || numbers.contains(&slice);
        let name_site = |(slice, site): &(u32, Site)| {
            has_slice(*slice).then(|| (*slice, format!("{site} of slice {slice}")))
        };
        let name_slice =
            |slice: &u32| has_slice(*slice).then(|| (*slice, format!("slice {slice}")));
        for (table, left, other) in [
            (files::SITES, stray(&sites, name_slice), files::SLICES),
            (files::TURNS, stray(&turns, name_slice), files::SLICES),
            (files::PEERS, stray(&peers, name_slice), files::SLICES),
            (files::WORKERS, stray(&workers, name_slice), files::SLICES),
            (files::QUIC, stray(&quic, name_slice), files::SLICES),
            (files::BANDS, stray(&bands, name_site), files::SITES),
            (files::CHILDREN, stray(&children, name_site), files::SITES),
            (files::BOUNDS, stray(&bounds, name_site), files::SITES),
        ] {
            if let Some(left) = left {
                let path = self.dir.join(table);
                bail!(
                    "{}: {left} has a row here, but none in {other}",
                    path.display()
                );
            }
        }
        Ok(slices)
    }

    fn table<T: Row>(&self) -> Result<Vec<T>> {
        rows::read(&self.dir, self.row.is_none())
    }
}

fn grouped<Key: Hash + Eq, T>(rows: Vec<T>, key: impl Fn(&T) -> Key) -> HashMap<Key, Vec<T>> {
    let mut groups: HashMap<Key, Vec<T>> = HashMap::new();
    for row in rows {
        groups.entry(key(&row)).or_default().push(row);
    }
    groups
}

/// The name of the first group of rows that no slice has taken.
fn stray<Key, T>(
    groups: &HashMap<Key, Vec<T>>,
    name: impl Fn(&Key) -> Option<(u32, String)>,
) -> Option<String> {
    let left = groups.keys().filter_map(name).min();
    left.map(|(_, name)| name)
}

fn taken<Key: Hash + Eq, T>(groups: &mut HashMap<Key, Vec<T>>, key: Key) -> Vec<T> {
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

/// Finds the blocks in which every variant has a slice. A block has the indices of its slices, by variant.
pub(super) fn complete_blocks<'a>(
    slices: impl Iterator<Item = &'a SliceRow>,
    variants: usize,
) -> Result<Vec<Vec<usize>>> {
    let mut blocks: BTreeMap<u32, Vec<Option<usize>>> = BTreeMap::new();
    for (index, slice) in slices
        .enumerate()
        .filter(|(_, slice)| slice.pass == Pass::Compare)
    {
        let (line, number, variant) = (index + 2, slice.block, slice.variant);
        let block = blocks.entry(number).or_insert_with(|| vec![None; variants]);
        let Some(place) = block.get_mut(variant) else {
            bail!("line {line}: there is no variant {variant}");
        };
        if place.replace(index).is_some() {
            bail!("line {line}: block {number} has variant {variant} twice");
        }
    }
    let complete = |block: Vec<Option<usize>>| block.into_iter().collect();
    Ok(blocks.into_values().filter_map(complete).collect())
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
