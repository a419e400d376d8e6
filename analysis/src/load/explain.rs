//! Reads what `explain` wrote.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use run_format::{
    ActivityCounter, BASELINE, BandRow, Cell, ChildRow, ChosenCell, EvidenceFile, EvidenceRow,
    ExplainFile, Manifest, MeasuredSpan, Measurement, Pass, Plausible, RunConfig, RunOutcome,
    RunRow, Site, SiteRow, SliceRow, SweepConfig, TimelineRow, files, read_table,
};
use serde::de::DeserializeOwned;

use super::{Sweep, outside, rows};

pub(crate) struct CellExplained {
    pub(crate) chosen: ChosenCell,
    /// The launches by subject. If there are no subjects, the only one is 0.
    pub(crate) launches: BTreeMap<usize, CellEvidence>,
}

pub(crate) struct LoadedExplanation {
    pub(crate) file: ExplainFile,
    /// The cells whose launch is `ok`, in the order in which they were chosen. With subjects the launch of the first one
    /// counts.
    pub(crate) cells: Vec<CellExplained>,
    pub(crate) flaws: Vec<String>,
}

impl LoadedExplanation {
    pub(crate) fn read(sweep: &Sweep, polls: SlowPolls) -> Result<Option<LoadedExplanation>> {
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
            for &subject in &subjects {
                let launch = Launch {
                    dir: &dir.join(files::explained_folder(&chosen.id, subject)),
                    cell: &chosen.id,
                    subject,
                    variants: &file.variants,
                    manifest,
                };
                let evidence = launch.read(polls, &mut flaws)?;
                launches.extend(evidence.map(|evidence| (subject.unwrap_or(0), evidence)));
            }
            if launches.contains_key(&0) {
                cells.push(CellExplained {
                    chosen: chosen.clone(),
                    launches,
                });
            }
        }
        Ok(Some(LoadedExplanation { file, cells, flaws }))
    }
}

/// The launch of a chosen cell.
struct Launch<'a> {
    dir: &'a Path,
    cell: &'a str,
    subject: Option<usize>,
    /// The variants that the slices can belong to.
    variants: &'a [usize],
    manifest: &'a Manifest,
}

impl Launch<'_> {
    fn name(&self) -> String {
        let (cell, subjects) = (self.cell, &self.manifest.config.subjects);
        match self.subject {
            Some(subject) => format!("`{cell}` of `{}`", subjects[subject].label),
            None => format!("`{cell}`"),
        }
    }

    /// Reads the evidence of a launch that is `ok`. Adds a sentence to `flaws` if something is wrong with the launch.
    fn read(&self, polls: SlowPolls, flaws: &mut Vec<String>) -> Result<Option<CellEvidence>> {
        let name = self.name();
        if !self.dir.is_dir() {
            flaws.push(format!("{name} was chosen but not launched (yet)"));
            return Ok(None);
        }
        let path = self.dir.join(files::RUN);
        let row: RunRow = outside::read(&path)?;
        super::check_cell(&row, self.cell, self.manifest)
            .and_then(|()| self.check_options(&row.config))
            .with_context(|| path.display().to_string())?;
        row.check_files(self.dir)?;
        flaws.extend(super::flaw(&row.outcome).map(|flaw| format!("the launch of {name} {flaw}")));
        match row.outcome {
            RunOutcome::Ok { .. } => CellEvidence::read(self, &row, polls).map(Some),
            _ => Ok(None),
        }
    }

    fn check_options(&self, config: &RunConfig) -> Result<()> {
        if !matches!(config.measurement, Measurement::Explain(_)) {
            bail!("it explains nothing");
        }
        if config.subject != self.subject {
            bail!("it is of another subject");
        }
        let expected = SweepConfig {
            measurement: config.measurement.clone(),
            turn_ms: None,
            max_cell_ms: None,
            ..self.manifest.config.clone()
        };
        super::check_options(&expected, config)
    }

    fn check_slices(&self, slices: &[SliceRow]) -> Result<()> {
        for (line, SliceRow { variant, pass, .. }) in (2..).zip(slices) {
            if !self.variants.contains(variant) {
                bail!("line {line}: variant {variant} is not one of explain.json's");
            }
            if matches!(pass, Pass::Compare | Pass::Children) {
                bail!("line {line}: `explain` has no pass \"{pass}\"");
            }
        }
        Ok(())
    }
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
    for (index, chosen) in file.cells.iter().enumerate() {
        if !cells.iter().any(|cell| cell.id() == chosen.id) {
            bail!("{} is no cell of this sweep's manifest", chosen.id);
        }
        if file.cells[..index].iter().any(|cell| cell.id == chosen.id) {
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

    /// Reads all files of a launch. The row is that of its `run.json`.
    fn read(launch: &Launch, row: &RunRow, polls: SlowPolls) -> Result<CellEvidence> {
        let dir = launch.dir;
        let seen: EvidenceFile = outside::read_unversioned(&dir.join(files::EVIDENCE))?;
        let path = dir.join(files::SLICES);
        let slices: Vec<SliceRow> = rows::read(dir, false)?;
        launch
            .check_slices(&slices)
            .with_context(|| path.display().to_string())?;
        let span = |slice: &SliceRow| MeasuredSpan {
            ms: slice.duration_ms.max(slice.sampled_ms),
            turns: slice.turns.into(),
            threads: row.config.runtime.threads() as f64,
            took_ms: row.took_ms as f64,
        };
        let spans = slices.iter().map(|slice| (slice.slice, span(slice)));
        let tables = Tables {
            dir,
            seen: &seen,
            spans: spans.collect(),
        };
        let bands = read_table(&dir.join(files::BANDS), false);
        Ok(CellEvidence {
            cell: row.config.cell,
            polls,
            name: launch.name(),
            slices: tables.checked(Ok(slices), files::SLICES)?,
            sites: tables.checked(rows::read(dir, false), files::SITES)?,
            bands: tables.checked(bands, files::BANDS)?,
            children: tables.checked(rows::read(dir, false), files::CHILDREN)?,
            stacks: tables.read_pass(Pass::Stacks, files::STACKS)?,
            allocations: tables.read_pass(Pass::Allocations, files::ALLOCATIONS)?,
            allocation_stacks: tables.read_pass(Pass::Allocations, files::ALLOCATION_STACKS)?,
            counters: tables.read_pass(Pass::Counters, files::COUNTERS)?,
            system_calls: tables.read_pass(Pass::SystemCalls, files::SYSTEM_CALLS)?,
            timeline: tables.read_pass(Pass::Timeline, files::TIMELINE)?,
            activity: tables.read_pass(Pass::Activity, files::ACTIVITY)?,
            seen,
        })
    }
}

/// The tables of a launch, and the limits of the figures of its slices.
struct Tables<'a> {
    dir: &'a Path,
    seen: &'a EvidenceFile,
    spans: BTreeMap<u32, MeasuredSpan>,
}

impl Tables<'_> {
    /// Reads a table of a pass. The table may be missing if the file of evidence calls this pass unavailable.
    fn read_pass<Row>(&self, pass: Pass, name: &str) -> Result<Vec<Row>>
    where
        Row: DeserializeOwned + OfSlice + Plausible,
    {
        let path = self.dir.join(name);
        let mut unavailable = self.seen.unavailable.iter();
        if !path.exists() && unavailable.any(|unavailable| unavailable.pass == pass) {
            return Ok(Vec::new());
        }
        self.checked(read_table(&path, false), name)
    }

    /// Refuses a figure that its column cannot have.
    fn checked<Row: OfSlice + Plausible>(
        &self,
        rows: Result<Vec<Row>>,
        name: &str,
    ) -> Result<Vec<Row>> {
        let rows = rows?;
        for (line, row) in (2..).zip(&rows) {
            let (dir, slice) = (self.dir.display(), row.slice());
            let place = || format!("{dir}: {name}: line {line}");
            let span = self.spans.get(&slice);
            let missing = || format!("slice {slice} is not in {}", files::SLICES);
            let checked = span.with_context(missing).and_then(|span| row.check(span));
            checked.with_context(place)?;
        }
        Ok(rows)
    }
}

pub(crate) trait OfSlice {
    fn slice(&self) -> u32;
}

macro_rules! impl_of_slice {
    ($($row:ident)*) => {$(
        impl OfSlice for $row {
            fn slice(&self) -> u32 {
                self.slice
            }
        }
    )*};
}
impl_of_slice!(BandRow ChildRow SiteRow SliceRow TimelineRow);

impl<What> OfSlice for EvidenceRow<What> {
    fn slice(&self) -> u32 {
        self.slice
    }
}
