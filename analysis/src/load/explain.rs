//! Reads what `explain` wrote.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use run_format::{
    ActivityCounter, BASELINE, BandRow, Cell, ChildRow, ChosenCell, End, EvidenceFile, EvidenceRow,
    ExplainFile, Extent, Limited, Manifest, Measurement, Pass, RunConfig, RunRow, Site, SiteRow,
    SliceRow, SweepConfig, TimelineRow, files, read_table,
};
use serde::de::DeserializeOwned;

use super::{Sweep, outside, rows};

pub(crate) struct CellExplained {
    pub(crate) chosen: ChosenCell,
    /// The launches by subject. If there are no subjects, the only one is 0.
    pub(crate) launches: BTreeMap<usize, CellEvidence>,
}

pub(crate) struct Explained {
    pub(crate) file: ExplainFile,
    /// The cells whose launch is `ok`, in the order in which they were chosen. With subjects the launch of the first one counts.
    pub(crate) cells: Vec<CellExplained>,
    pub(crate) flaws: Vec<String>,
}

impl Explained {
    pub(crate) fn read(sweep: &Sweep, polls: SlowPolls) -> Result<Option<Explained>> {
        let (dir, manifest) = (sweep.dir.join(files::EXPLAIN), &sweep.manifest);
        if !dir.is_dir() {
            return Ok(None);
        }
        let path = dir.join(files::EXPLAIN).with_extension("json");
        if !path.is_file() {
            bail!(
                "{}: it has no explain.json, so it is not what `explain` writes; remove it or explain again",
                dir.display()
            );
        }
        let mut file: ExplainFile = outside::read(&path)?;
        check(&file, manifest).with_context(|| path.display().to_string())?;
        file.cells.sort_by_key(|chosen| chosen.rank);
        let subjects: Vec<Option<usize>> = match file.subjects.len() {
            0 => vec![None],
            _ => file.subjects.iter().copied().map(Some).collect(),
        };
        let (mut cells, mut flaws) = (Vec::new(), Vec::new());
        for chosen in &file.cells {
            let mut launches = BTreeMap::new();
            for subject in &subjects {
                let place = (&*chosen.id, *subject);
                let (evidence, flaw) = launch(&dir, place, manifest, &file.variants, polls)?;
                flaws.extend(flaw);
                launches.extend(evidence.map(|evidence| (subject.unwrap_or(0), evidence)));
            }
            if launches.contains_key(&0) {
                cells.push(CellExplained {
                    chosen: chosen.clone(),
                    launches,
                });
            }
        }
        Ok(Some(Explained { file, cells, flaws }))
    }
}

/// Reads the launch of a chosen cell. If the launch is not `ok`, there is no evidence, and a sentence says why.
fn launch(
    dir: &Path,
    (id, subject): (&str, Option<usize>),
    manifest: &Manifest,
    variants: &[usize],
    polls: SlowPolls,
) -> Result<(Option<CellEvidence>, Option<String>)> {
    let name = match subject {
        Some(subject) => format!("`{id}` of `{}`", manifest.config.subjects[subject].label),
        None => format!("`{id}`"),
    };
    let folder = dir.join(files::explained_folder(id, subject));
    if !folder.is_dir() {
        let flaw = format!("{name} was chosen but not launched (yet)");
        return Ok((None, Some(flaw)));
    }
    let path = folder.join(files::RUN);
    let row: RunRow = outside::read(&path)?;
    super::check_cell(&row, id, manifest)
        .and_then(|()| check_options(&row.config, subject, manifest))
        .with_context(|| path.display().to_string())?;
    row.check_files(&folder)?;
    let flaw = super::flaw(&row.end).map(|flaw| format!("the launch of {name} {flaw}"));
    let evidence = match row.end {
        End::Ok { .. } => Some(CellEvidence::read(&folder, &row, (name, variants), polls)?),
        _ => None,
    };
    Ok((evidence, flaw))
}

fn check_options(launch: &RunConfig, subject: Option<usize>, manifest: &Manifest) -> Result<()> {
    if !matches!(launch.measurement, Measurement::Explain(_)) {
        bail!("it explains nothing");
    }
    if launch.subject != subject {
        bail!("it is of another subject");
    }
    let config = SweepConfig {
        measurement: launch.measurement.clone(),
        turn_ms: None,
        max_cell_ms: None,
        ..manifest.config.clone()
    };
    super::check_options(&config, launch)
}

fn check(file: &ExplainFile, manifest: &Manifest) -> Result<()> {
    let known = manifest.config.variants.len();
    match file.variants[..] {
        [0] => {}
        [0, other] if other != 0 && other < known => {}
        _ => bail!(
            "variants are {:?}, not the baseline (0) and at most one other of the manifest's {known}",
            file.variants
        ),
    }
    let subjects = manifest.config.subjects.len();
    match &file.subjects[..] {
        [] if subjects == 0 => {}
        [0, others @ ..] if others.iter().all(|subject| (1..subjects).contains(subject)) => {}
        other => bail!(
            "subjects are {other:?}, not the first (0) and others of the manifest's {subjects}"
        ),
    }
    let cells = manifest.config.axes.cells();
    for (at, chosen) in file.cells.iter().enumerate() {
        if !cells.iter().any(|cell| cell.id() == chosen.id) {
            bail!("{} is no cell of this sweep's manifest", chosen.id);
        }
        if file.cells[..at].iter().any(|cell| cell.id == chosen.id) {
            bail!("{} is there twice", chosen.id);
        }
    }
    Ok(())
}

/// The polls that evidence has to explain: those of a site in the band from `from_ns` and in higher bands.
#[derive(Clone, Copy)]
pub(crate) struct SlowPolls {
    pub(crate) site: Site,
    pub(crate) from_ns: u64,
}

pub(crate) struct CellEvidence {
    pub(crate) cell: Cell,
    pub(crate) polls: SlowPolls,
    pub(crate) name: String,
    pub(crate) seen: EvidenceFile,
    /// The slices, in the order of time.
    pub(crate) slices: Vec<SliceRow>,
    pub(crate) sites: Vec<SiteRow>,
    pub(crate) bands: Vec<BandRow>,
    pub(crate) children: Vec<ChildRow>,
    pub(crate) stacks: Vec<EvidenceRow>,
    pub(crate) allocations: Vec<EvidenceRow>,
    pub(crate) allocation_stacks: Vec<EvidenceRow>,
    pub(crate) counters: Vec<EvidenceRow>,
    pub(crate) system_calls: Vec<EvidenceRow>,
    pub(crate) activity: Vec<EvidenceRow<ActivityCounter>>,
    pub(crate) timeline: Vec<TimelineRow>,
}

impl CellEvidence {
    pub(crate) fn has(&self, pass: Pass) -> bool {
        let is_there = |slice: &SliceRow| slice.variant == BASELINE && slice.pass == pass;
        let rows = match pass {
            Pass::Stacks => self.stacks.len(),
            Pass::Allocations => self.allocations.len(),
            Pass::Counters => self.counters.len(),
            Pass::SystemCalls => self.system_calls.len(),
            Pass::Timeline => self.timeline.len(),
            Pass::Activity => self.activity.len(),
            Pass::Normal | Pass::Warm => self.bands.len(),
            Pass::Compare | Pass::Children => 0,
        };
        rows > 0 && self.slices.iter().any(is_there)
    }

    /// Reads all files of the launch. Slices of other variants than `variants` are refused.
    fn read(
        dir: &Path,
        launch: &RunRow,
        (name, variants): (String, &[usize]),
        polls: SlowPolls,
    ) -> Result<CellEvidence> {
        let cell = launch.config.cell;
        let seen: EvidenceFile = outside::read_unversioned(&dir.join(files::EVIDENCE))?;
        let path = dir.join(files::SLICES);
        let slices: Vec<SliceRow> = rows::read(dir, false)?;
        check_slices(&slices, variants).with_context(|| path.display().to_string())?;
        let launched = (dir, &seen);
        let system_calls: Vec<EvidenceRow> =
            evidence(launched, Pass::SystemCalls, files::SYSTEM_CALLS)?;
        if system_calls.iter().any(|row| row.site.is_some()) {
            let calls_path = dir.join(files::SYSTEM_CALLS);
            bail!(
                "{}: a call has a site, so an earlier version wrote it (explain again)",
                calls_path.display()
            );
        }
        let evidence = CellEvidence {
            cell,
            polls,
            name,
            sites: rows::read(dir, false)?,
            bands: read_table(&dir.join(files::BANDS), false)?,
            children: rows::read(dir, false)?,
            stacks: evidence(launched, Pass::Stacks, files::STACKS)?,
            allocations: evidence(launched, Pass::Allocations, files::ALLOCATIONS)?,
            allocation_stacks: evidence(launched, Pass::Allocations, files::ALLOCATION_STACKS)?,
            counters: evidence(launched, Pass::Counters, files::COUNTERS)?,
            system_calls,
            timeline: evidence(launched, Pass::Timeline, files::TIMELINE)?,
            activity: evidence(launched, Pass::Activity, files::ACTIVITY)?,
            slices,
            seen,
        };
        evidence
            .check(launch)
            .with_context(|| dir.display().to_string())?;
        Ok(evidence)
    }

    /// Refuses a figure that its column cannot have.
    fn check(&self, launch: &RunRow) -> Result<()> {
        let extents: BTreeMap<u32, Extent> = self
            .slices
            .iter()
            .map(|row| {
                let extent = Extent {
                    ms: row.duration_ms.max(row.sampled_ms),
                    turns: row.turns.into(),
                    threads: launch.config.runtime.threads() as f64,
                    took_ms: launch.took_ms as f64,
                };
                (row.slice, extent)
            })
            .collect();
        check_rows(&self.slices, &extents, files::SLICES)?;
        check_rows(&self.sites, &extents, files::SITES)?;
        check_rows(&self.bands, &extents, files::BANDS)?;
        check_rows(&self.children, &extents, files::CHILDREN)?;
        check_rows(&self.stacks, &extents, files::STACKS)?;
        check_rows(&self.allocations, &extents, files::ALLOCATIONS)?;
        check_rows(&self.allocation_stacks, &extents, files::ALLOCATION_STACKS)?;
        check_rows(&self.counters, &extents, files::COUNTERS)?;
        check_rows(&self.system_calls, &extents, files::SYSTEM_CALLS)?;
        check_rows(&self.timeline, &extents, files::TIMELINE)?;
        check_rows(&self.activity, &extents, files::ACTIVITY)
    }
}

fn check_rows<Row: OfSlice + Limited>(
    rows: &[Row],
    extents: &BTreeMap<u32, Extent>,
    table: &str,
) -> Result<()> {
    for (line, row) in (2..).zip(rows) {
        let slice = row.slice();
        let Some(extent) = extents.get(&slice) else {
            bail!(
                "{table}: line {line}: slice {slice} is not in {}",
                files::SLICES
            );
        };
        row.check(extent)
            .with_context(|| format!("{table}: line {line}"))?;
    }
    Ok(())
}

pub(crate) trait OfSlice {
    fn slice(&self) -> u32;
}

macro_rules! of_slice {
    ($($row:ident)*) => {$(
        impl OfSlice for $row {
            fn slice(&self) -> u32 {
                self.slice
            }
        }
    )*};
}
of_slice!(BandRow ChildRow SiteRow SliceRow TimelineRow);

impl<What> OfSlice for EvidenceRow<What> {
    fn slice(&self) -> u32 {
        self.slice
    }
}

/// Reads a table of a pass. The table may be missing if the file of evidence calls this pass unavailable.
fn evidence<Row: DeserializeOwned>(
    (dir, seen): (&Path, &EvidenceFile),
    pass: Pass,
    name: &str,
) -> Result<Vec<Row>> {
    let path = dir.join(name);
    let mut unavailable = seen.unavailable.iter();
    if !path.exists() && unavailable.any(|unavailable| unavailable.pass == pass) {
        return Ok(Vec::new());
    }
    read_table(&path, false)
}

fn check_slices(slices: &[SliceRow], variants: &[usize]) -> Result<()> {
    for (line, SliceRow { variant, pass, .. }) in (2..).zip(slices) {
        if !variants.contains(variant) {
            bail!("line {line}: variant {variant} is not one of explain.json's");
        }
        if matches!(pass, Pass::Compare | Pass::Children) {
            bail!("line {line}: `explain` has no pass \"{pass}\"");
        }
    }
    Ok(())
}
