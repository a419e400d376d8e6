//! The turns of a comparison, in blocks of random order, until the time is up or a guardrail ends it.

use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use poll_probe::{Variant, count_muxer_bytes};
use rand::SeedableRng;
use rand::rngs::StdRng;
use run_format::files::{APPLICATION, BLOCKS, CELLS, SCHEMA, run_folder, unix_s, write_json};
use run_format::{
    ApplicationFile, ApplicationOutcome, ApplicationRun, BASELINE, BlockRow, Budgets, Cell,
    HistogramOf, Site, SliceRow, TableWriters,
};

use crate::length::{PIECE, pieces_of_turn};
use crate::recording::Recording;
use crate::slices::{Answered, LogReader, ObservedSlice, RunWriter, Sums, ms, order};

/// When the recording thread ends, even by a panic, `none` is in force and yamux counts no bytes.
struct NoneAtLast;

impl Drop for NoneAtLast {
    fn drop(&mut self) {
        Variant::default().install();
        count_muxer_bytes(false);
    }
}

/// Compares, and writes how that ended. This is the recording thread. It returns the reader of requests for the next
/// comparison.
pub(crate) fn run(
    file: ApplicationFile,
    recording: Recording,
    is_length_given: bool,
    dir: &Path,
) -> (ApplicationOutcome, LogReader<Answered>) {
    let none_at_last = NoneAtLast;
    let cell = dir.join(CELLS).join(Cell::default().id());
    let partial = cell.join(run_folder(1, None) + ".partial");
    let began = Instant::now();
    let mut turns = Turns {
        end: began + Duration::from_millis(file.limit_ms),
        rng: StdRng::seed_from_u64(file.seed),
        file,
        recording,
        is_length_given,
        dir,
        partial: partial.clone(),
        run: ApplicationRun {
            schema: SCHEMA,
            outcome: ApplicationOutcome::TimeUp,
            started_unix_s: unix_s(),
            took_ms: 0,
            blocks: 0,
            refused_slices: 0,
            lost_records: 0,
            files: Default::default(),
        },
        tables: None,
        sites: Vec::new(),
        connection_site: Site::default(),
        written: 0,
        counts_requests: false,
    };
    turns.run.outcome = turns.compare();
    drop(none_at_last);
    turns.recording.feed.in_force(BASELINE);
    turns.run.took_ms = ms(began.elapsed());
    let is_written = turns.finish().and_then(|()| {
        turns.run.write(&partial)?;
        let done = cell.join(run_folder(1, None));
        fs::rename(&partial, &done).with_context(|| partial.display().to_string())
    });
    if let Err(error) = is_written {
        turns.run.outcome = error.into();
    }
    (turns.run.outcome, turns.recording.observers.requests)
}

struct Turns<'a> {
    file: ApplicationFile,
    recording: Recording,
    end: Instant,
    rng: StdRng,
    is_length_given: bool,
    /// The folder that the user asked for.
    dir: &'a Path,
    /// The folder of the tables, below `dir`. It is renamed when the run is complete.
    partial: PathBuf,
    run: ApplicationRun,
    /// None until the sites are known.
    tables: Option<Tables>,
    /// The sites that are recorded.
    sites: Vec<Site>,
    /// The site whose polls tell how slow connections are.
    connection_site: Site,
    /// The number of slices that are written.
    written: u32,
    counts_requests: bool,
}

struct Tables {
    slices: RunWriter,
    blocks: TableWriters,
}

/// A turn that is over.
struct Turn {
    variant: usize,
    /// Its polls and waits.
    observed: ObservedSlice,
    /// The columns of its slice that are counts.
    used: SliceRow,
}

impl Turns<'_> {
    /// Compares until something ends that.
    fn compare(&mut self) -> ApplicationOutcome {
        let mut go_on = || -> Result<(), ApplicationOutcome> {
            let partial = &self.partial;
            fs::create_dir_all(partial).with_context(|| partial.display().to_string())?;
            self.warm_up()?;
            self.tables = Some(Tables {
                slices: RunWriter::create(&self.partial, self.sites.clone(), Vec::new())?,
                blocks: TableWriters::create(&self.partial, &[BLOCKS])?,
            });
            for number in 1.. {
                self.recording.wait_while_paused(&mut self.end)?;
                self.measure_block(number)?;
            }
            Ok(())
        };
        go_on().err().unwrap_or(ApplicationOutcome::TimeUp)
    }

    /// Records without budgets until each site that has a budget was polled, and finds the length of turns.
    fn warm_up(&mut self) -> Result<(), ApplicationOutcome> {
        const SILENT: Duration = Duration::from_secs(10);
        let limit = Duration::from_millis(self.file.limit_ms);
        let share = if self.is_length_given { 0 } else { 1 };
        let least = (limit * share / 20).max(2 * PIECE);
        let id = self.recording.install(Budgets::NONE);
        let now_ns = self.recording.now_ns();
        let mut observed = ObservedSlice::open(id, now_ns, now_ns, 0);
        let (mut pieces, mut beyond_before_ns, mut is_named) = (Vec::new(), 0, false);
        loop {
            self.recording.wait_while_paused(&mut self.end)?;
            self.recording.install(Budgets::NONE);
            self.recording
                .collect_for(PIECE, Some(&mut observed), false)?;
            let sites = Site::ALL.iter();
            let beyond_ns: u64 = sites
                .map(|site| observed.site(*site).sums().beyond_ns)
                .sum();
            pieces.push((beyond_ns - beyond_before_ns) as f64);
            beyond_before_ns = beyond_ns;
            let time = PIECE * pieces.len() as u32;
            let variants = &self.file.variants;
            let is_bounded = |site| {
                let mut budgets = variants.iter().map(|variant| variant.budgets);
                budgets.any(|budgets| budgets.at(site).is_some())
            };
            let is_silent = |site: &Site| is_bounded(*site) && observed.site(*site).row.polls == 0;
            match Site::ALL.into_iter().find(is_silent) {
                None if time >= least => break,
                Some(site) if Instant::now() >= self.end => {
                    let reason = no_polls(site);
                    return Err(ApplicationOutcome::Failed { reason });
                }
                Some(site) if time >= SILENT.min(limit / 2) && !is_named => {
                    is_named = true;
                    say(&no_polls(site));
                }
                _ => {}
            }
        }
        if !self.is_length_given {
            let settling = self.file.settle_ms as f64 / ms(PIECE) as f64;
            self.file.turn_ms = ms(PIECE) * pieces_of_turn(&pieces, settling) as u64;
            write_json(&self.dir.join(APPLICATION), &self.file)?;
        }
        self.sites = Vec::from(Site::ALL);
        self.sites.retain(|site| observed.site(*site).row.polls > 0);
        self.connection_site = Site::of_connections(self.sites.clone());
        Ok(())
    }

    /// Gives each variant a turn, in random order. A block that would end after the requested time does not begin.
    fn measure_block(&mut self, number: u32) -> Result<(), ApplicationOutcome> {
        let (turn_ms, settle_ms) = (self.file.turn_ms, self.file.settle_ms);
        let settling = Duration::from_millis(settle_ms);
        let variants = self.file.variants.len();
        let planned = Duration::from_millis(turn_ms + settle_ms) * variants as u32 + settling;
        if Instant::now() + planned > self.end {
            return Err(ApplicationOutcome::TimeUp);
        }
        let (began, written_before) = (Instant::now(), self.written);
        self.recording.latest = Duration::ZERO;
        let mut last = None;
        for variant in order(&vec![1; variants], &mut self.rng) {
            if self.recording.is_paused() {
                break;
            }
            let budgets = self.file.variants[variant].budgets;
            let id = self.recording.install(budgets);
            self.recording.feed.in_force(variant);
            let switched_ns = self.recording.now_ns();
            self.settle(number, last.take())?;
            let before = self.recording.counters.sums();
            let now_ns = self.recording.now_ns();
            let mut observed = ObservedSlice::open(id, now_ns, switched_ns, 0);
            observed.connection_site = self.connection_site;
            self.recording.guard.begin();
            self.recording.collect_for(
                Duration::from_millis(turn_ms),
                Some(&mut observed),
                true,
            )?;
            observed.end_turn(self.recording.now_ns());
            let used = self.recording.counters.sums().since(before);
            last = Some(Turn {
                variant,
                observed,
                used,
            });
        }
        self.recording.install(Budgets::NONE);
        self.recording.feed.in_force(BASELINE);
        let ended = self.settle(number, last);
        let written = self.written - written_before;
        if written == variants as u32 {
            self.run.blocks += 1;
            self.recording.feed.figures.add("blocks", &[], 1.0);
        }
        if let Some(Tables { blocks, .. }) = self.tables.as_mut().filter(|_| written > 0) {
            let row = BlockRow {
                block: number,
                duration_ms: began.elapsed().as_secs_f64() * 1e3,
                latest_ms: Some(self.recording.latest.as_secs_f64() * 1e3),
                ..BlockRow::default()
            };
            blocks.row(BLOCKS, &row)?;
            blocks.flush()?;
        }
        ended
    }

    /// Waits for the late polls of the turn before, and writes its slice.
    fn settle(&mut self, block: u32, mut last: Option<Turn>) -> Result<(), ApplicationOutcome> {
        let settling = Duration::from_millis(self.file.settle_ms);
        let observed = last.as_mut().map(|turn| &mut turn.observed);
        let ended = self.recording.collect_for(settling, observed, false);
        if ended.is_err() {
            Variant::default().install();
        }
        if let Some(turn) = last {
            self.write_slice(block, turn)?;
        }
        ended
    }

    /// Writes a slice, unless it lost records.
    fn write_slice(&mut self, block: u32, turn: Turn) -> Result<(), ApplicationOutcome> {
        let observed = turn.observed;
        let lost_records: u64 = observed.sites.iter().map(|site| site.row.lost).sum();
        let lost = observed.lost_entries + lost_records;
        self.run.lost_records += lost;
        let figures = &self.recording.feed.figures;
        figures.add("lost_records", &[], lost as f64);
        self.recording.guard.lost(lost)?;
        if lost > 0 {
            self.run.refused_slices += 1;
            return Ok(());
        }
        self.add_late_sites(&observed)?;
        self.recording.feed.turn(turn.variant, &observed);
        let requests = observed.histograms.count(HistogramOf::Latency);
        self.counts_requests |= requests > 0;
        self.written += 1;
        let row = SliceRow {
            slice: self.written,
            block,
            variant: turn.variant,
            start_ms: observed.start_ns as f64 / 1e6,
            duration_ms: observed.duration_ns as f64 / 1e6,
            turns: observed.turns,
            requests: self.counts_requests.then_some(requests),
            requests_begun_before: self.counts_requests.then_some(observed.begun_before),
            lost_entries: lost,
            ..turn.used
        };
        if let Some(tables) = &mut self.tables {
            tables.slices.write(&row, &observed, &[], None)?;
        }
        Ok(())
    }

    /// Adds the sites that are polled for the first time in this slice.
    fn add_late_sites(&mut self, observed: &ObservedSlice) -> Result<(), ApplicationOutcome> {
        for site in Site::ALL {
            let is_late = observed.site(site).row.polls > 0 && !self.sites.contains(&site);
            let Some(tables) = self.tables.as_mut().filter(|_| is_late) else {
                continue;
            };
            self.sites.push(site);
            if Site::of_connections(self.sites.clone()) == self.connection_site {
                tables.slices.add_site(site, self.written + 1)?;
            } else {
                say(&format!(
                    "the site {site} was polled only after the turns had begun, so it is not in this run; start once more"
                ));
            }
        }
        Ok(())
    }

    /// Waits until everything is on disk.
    fn finish(&mut self) -> Result<()> {
        let Some(tables) = self.tables.take() else {
            return Ok(());
        };
        tables.slices.finish(self.recording.now_ns())?;
        tables.blocks.finish()
    }
}

fn no_polls(site: Site) -> String {
    format!(
        "no poll of the site {site} was recorded, so nothing was compared; is its crate the one that `swarm-patch vendor` \
         wrote, and is it used?"
    )
}

/// Prints a line for the user of the application, which goes on even if nobody reads it.
fn say(text: &str) {
    let _ = writeln!(stderr(), "node-ab: {text}");
}
