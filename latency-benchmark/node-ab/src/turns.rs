//! The turns: blocks of random order, as long as time and limits permit.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use poll_probe::Variant;
use rand::SeedableRng;
use rand::rngs::StdRng;
use run_format::application::{ApplicationFile, ApplicationRun, Ended};
use run_format::files::{BLOCKS, CELLS, SCHEMA, run_folder, unix_s};
use run_format::grid::Cell;
use run_format::histogram_tag::HistogramOf;
use run_format::table::TableWriters;
use run_format::tables::{BlockRow, SliceRow};
use run_format::{Budgets, Site};
use slices::log::LogReader;
use slices::order::order;
use slices::requests::Answered;
use slices::run_writer::RunWriter;
use slices::slice::ObservedSlice;
use slices::sums::Sums;

use crate::recording::Recording;
use crate::sample::ms;

/// Puts `none` in force when the recording thread ends, however it does.
struct NoneAtLast;

impl Drop for NoneAtLast {
    fn drop(&mut self) {
        Variant::default().install();
    }
}

/// The recording thread: compares, and writes how that ended. Gives back what it took.
pub(crate) fn run(
    file: ApplicationFile,
    recording: Recording,
    dir: &Path,
) -> (Ended, LogReader<Answered>) {
    let none_at_last = NoneAtLast;
    let cell = dir.join(CELLS).join(Cell::default().id());
    let partial = cell.join(run_folder(1, None) + ".partial");
    let (began, started_unix_s) = (Instant::now(), unix_s());
    let mut turns = Turns {
        end: began + Duration::from_millis(file.limit_ms),
        rng: StdRng::seed_from_u64(file.seed),
        file,
        recording,
        dir: partial.clone(),
        writer: None,
        written: 0,
        complete: 0,
        refused: 0,
        counts_requests: false,
    };
    let ended = turns.compare();
    drop(none_at_last);
    let mut run = ApplicationRun {
        schema: SCHEMA,
        ended,
        started_unix_s,
        took_ms: ms(began.elapsed()),
        blocks: turns.complete,
        refused_slices: turns.refused,
        lost_records: turns.recording.lost,
        files: Default::default(),
    };
    let is_written = turns.finish().and_then(|()| {
        run.write(&partial)?;
        let done = cell.join(run_folder(1, None));
        fs::rename(&partial, &done).with_context(|| partial.display().to_string())
    });
    if let Err(error) = is_written {
        run.ended = error.into();
    }
    (run.ended, turns.recording.observers.requests)
}

struct Turns {
    file: ApplicationFile,
    recording: Recording,
    end: Instant,
    rng: StdRng,
    dir: PathBuf,
    /// Once it is known which sites there are.
    writer: Option<(RunWriter, TableWriters)>,
    /// The number of slices that are written, of blocks of which all are, and of slices that lost records.
    written: u32,
    complete: u32,
    refused: u32,
    counts_requests: bool,
}

/// The slice of a turn.
struct Turn {
    variant: usize,
    seen: ObservedSlice,
    used: SliceRow,
}

impl Turns {
    /// Until something ends it.
    fn compare(&mut self) -> Ended {
        let mut go_on = || -> Result<(), Ended> {
            fs::create_dir_all(&self.dir).with_context(|| self.dir.display().to_string())?;
            let sites = self.wait_for_sites()?;
            let writer = RunWriter::create(&self.dir, sites.clone(), Vec::new())?;
            let blocks = TableWriters::create(&self.dir, &[BLOCKS])?;
            self.writer = Some((writer, blocks));
            let connections = Site::of_connections(sites);
            for number in 1.. {
                self.block(number, connections)?;
            }
            Ok(())
        };
        go_on().err().unwrap_or(Ended::TimeUp)
    }

    /// Records without budgets until each site that has a budget was polled. Returns those that were.
    fn wait_for_sites(&mut self) -> Result<Vec<Site>, Ended> {
        const LEAST: Duration = Duration::from_millis(500);
        let id = self.recording.install(Budgets::NONE);
        let now_ns = self.recording.now_ns();
        let mut seen = ObservedSlice::open(id, now_ns, now_ns, 0);
        let polls = |seen: &ObservedSlice, site| seen.site(site).row.polls;
        let variants = self.file.variants.clone();
        let has_budget = |site: &Site| variants.iter().any(|it| it.budgets.at(*site).is_some());
        loop {
            self.recording.collect_for(LEAST, Some(&mut seen), false)?;
            let mut bounded = Site::ALL.into_iter().filter(has_budget);
            match bounded.find(|site| polls(&seen, *site) == 0) {
                None => break,
                Some(site) if Instant::now() >= self.end => {
                    return Err(Ended::Failed {
                        reason: format!(
                            "no poll of the site {site} was recorded, so nothing was compared; is its crate the one \
                             that `swarm-patch vendor` wrote?"
                        ),
                    });
                }
                Some(_) => {}
            }
        }
        let mut sites = Vec::from(Site::ALL);
        sites.retain(|site| polls(&seen, *site) > 0);
        Ok(sites)
    }

    /// A turn of each variant, in random order. None begins that would end after the time that was asked for.
    fn block(&mut self, number: u32, connections: Site) -> Result<(), Ended> {
        let (turn_ms, washout_ms) = (self.file.turn_ms, self.file.washout_ms);
        let washout = Duration::from_millis(washout_ms);
        let variants = self.file.variants.len();
        let planned = Duration::from_millis(turn_ms + washout_ms) * variants as u32 + washout;
        if Instant::now() + planned > self.end {
            return Err(Ended::TimeUp);
        }
        let (began, written) = (Instant::now(), self.written);
        self.recording.latest = Duration::ZERO;
        let mut last = None;
        for variant in order(&vec![1; variants], &mut self.rng) {
            let budgets = self.file.variants[variant].budgets;
            let id = self.recording.install(budgets);
            let switched_ns = self.recording.now_ns();
            self.wash_out(number, last.take())?;
            let before = self.recording.sampler.sums();
            let now_ns = self.recording.now_ns();
            let mut seen = ObservedSlice::open(id, now_ns, switched_ns, 0);
            seen.connections = connections;
            self.recording.guard.begin();
            self.recording
                .collect_for(Duration::from_millis(turn_ms), Some(&mut seen), true)?;
            seen.close(self.recording.now_ns());
            let used = self.recording.sampler.sums().since(before);
            last = Some(Turn {
                variant,
                seen,
                used,
            });
        }
        self.recording.install(Budgets::NONE);
        let ended = self.wash_out(number, last);
        let written = self.written - written;
        self.complete += u32::from(written == variants as u32);
        if let Some((_, blocks)) = self.writer.as_mut().filter(|_| written > 0) {
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

    /// Waits until the turn before is over, and writes its slice.
    fn wash_out(&mut self, block: u32, mut last: Option<Turn>) -> Result<(), Ended> {
        let washout = Duration::from_millis(self.file.washout_ms);
        let seen = last.as_mut().map(|turn| &mut turn.seen);
        let ended = self.recording.collect_for(washout, seen, false);
        if ended.is_err() {
            Variant::default().install();
        }
        if let Some(turn) = last {
            self.keep(block, turn)?;
        }
        ended
    }

    /// Writes a slice, unless it lost records.
    fn keep(
        &mut self,
        block: u32,
        Turn {
            variant,
            seen,
            used,
        }: Turn,
    ) -> Result<(), Ended> {
        let lost = seen.lost_entries
            + Site::ALL
                .iter()
                .map(|it| seen.site(*it).row.lost)
                .sum::<u64>();
        self.recording.lost += lost;
        self.recording.guard.lost(lost)?;
        if lost > 0 {
            self.refused += 1;
            return Ok(());
        }
        let requests = seen.histograms.count(HistogramOf::Latency);
        self.counts_requests |= requests > 0;
        self.written += 1;
        let row = SliceRow {
            slice: self.written,
            block,
            variant,
            start_ms: seen.start_ns as f64 / 1e6,
            duration_ms: seen.duration_ns as f64 / 1e6,
            turns: seen.turns,
            requests: self.counts_requests.then_some(requests),
            requests_begun_before: self.counts_requests.then_some(seen.begun_before),
            lost_entries: lost,
            ..used
        };
        if let Some((writer, _)) = &mut self.writer {
            writer.write(&row, &seen, &[], None)?;
        }
        Ok(())
    }

    /// Has the disk confirm everything.
    fn finish(&mut self) -> Result<()> {
        let Some((writer, blocks)) = self.writer.take() else {
            return Ok(());
        };
        writer.finish(self.recording.now_ns())?;
        blocks.finish()
    }
}
