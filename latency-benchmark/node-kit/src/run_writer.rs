//! Writes the slices of a run as they are cut, each to disk before the next.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use hdrhistogram::{
    Histogram,
    serialization::{
        V2DeflateSerializer,
        interval_log::{IntervalLogWriterBuilder, Tag},
    },
};
use run_format::Site;
use run_format::{
    config::RunConfig,
    files::{BANDS, BOUNDS, CHILDREN, HISTOGRAMS, PEERS, QUIC, SITES, SLICES, TURNS, WORKERS},
    histogram_tag::{HistogramOf, HistogramTag},
    manifest::NamedSite,
    network::Cores,
    table::TableWriters,
    tables::{
        BANDS_FROM_NS, BandRow, BoundRow, ChildRow, Pass, PeerRow, QuicRow, SiteRow, SliceRow,
        TurnRow, WorkerRow,
    },
};

use crate::observe::{
    bands::AFTER_SWITCH_FROM_MS,
    process::{CpuTime, Observee},
    slice::ObservedSlice,
    workers::cores,
};

/// The tables and histograms of a run, while it goes on.
pub(crate) struct RunWriter {
    tables: TableWriters,
    /// The cores of each worker, where there are several.
    workers: Vec<Option<Cores>>,
    histograms: HistogramLog,
    /// Those of the stack. The others are absent.
    sites_there: Vec<Site>,
}

impl RunWriter {
    /// Begins the files of a run in the folder `dir`.
    pub(crate) fn create(
        dir: &Path,
        sites: &[NamedSite],
        config: &RunConfig,
        threads: &[Observee],
    ) -> Result<RunWriter> {
        let mut tables = vec![SLICES, TURNS, SITES, BANDS, CHILDREN, BOUNDS, PEERS];
        let mut workers = Vec::new();
        if sites.iter().any(|it| it.site.is_of_quic()) {
            tables.push(QUIC);
        }
        if config.runtime.workers > 1 {
            tables.push(WORKERS);
            // The first is the main thread. Later ones are for blocking work.
            let threads = threads.iter().take(config.runtime.workers + 1);
            workers.extend(threads.map(|it| cores(*it)));
        }
        Ok(RunWriter {
            tables: TableWriters::create(dir, &tables)?,
            workers,
            histograms: HistogramLog::create(&dir.join(HISTOGRAMS))?,
            sites_there: sites.iter().map(|it| it.site).collect(),
        })
    }

    /// Writes all of a slice. `used` is by thread, the workers first.
    pub(crate) fn write(
        &mut self,
        row: &SliceRow,
        slice: &ObservedSlice,
        used: &[CpuTime],
        quic: Option<QuicRow>,
    ) -> Result<()> {
        let number = row.slice;
        if let Some(quic) = quic {
            self.tables.row(QUIC, &quic)?;
        }
        for (worker, (cores, used)) in self.workers.iter().zip(used).enumerate() {
            let of = slice.workers.of(worker);
            let row = WorkerRow {
                slice: number,
                worker,
                cores: cores.clone(),
                polls: of.polls,
                slow_polls: of.slow,
                poll_ns: of.ns,
                cpu_ns: used.cpu_ns,
                runqueue_ns: used.runqueue_ns,
            };
            self.tables.row(WORKERS, &row)?;
        }
        for (at, latency_ns) in slice.peer_latency_ns.iter().enumerate() {
            let quantile = |q| (!latency_ns.is_empty()).then(|| latency_ns.value_at_quantile(q));
            let row = PeerRow {
                slice: number,
                peer: at + 1,
                requests: latency_ns.len(),
                latency_p50_ns: quantile(0.5),
                latency_p99_ns: quantile(0.99),
            };
            self.tables.row(PEERS, &row)?;
        }
        for (from_ms, of) in AFTER_SWITCH_FROM_MS.into_iter().zip(&slice.after_switch) {
            if of.polls > 0 {
                let row = TurnRow {
                    slice: number,
                    from_ms,
                    polls: of.polls,
                    slow_polls: of.slow,
                };
                self.tables.row(TURNS, &row)?;
            }
        }
        for site in self.sites_there.clone() {
            self.write_site(number, site, slice)?;
        }
        for &(site, budget, pieces) in slice.replay.iter().flat_map(|it| &it.0) {
            if pieces.count > 0 {
                let row = BoundRow {
                    slice: number,
                    site,
                    budget,
                    pieces: pieces.count,
                    slow_pieces: pieces.slow,
                    longest_ns: pieces.longest_ns,
                };
                self.tables.row(BOUNDS, &row)?;
            }
        }
        let span = Span::of(slice);
        let tag = |of| HistogramTag {
            of,
            slice: Some(number),
            variant: row.variant,
            pass: row.pass,
        };
        for (site, of) in Site::ALL.into_iter().zip(&slice.sites) {
            let (polls, longest) = (
                HistogramOf::Polls(site),
                HistogramOf::LongestIteration(site),
            );
            self.histograms
                .interval(tag(polls), span, &of.duration_ns)?;
            self.histograms
                .interval(tag(longest), span, &of.longest_iteration_ns)?;
        }
        for (of, histogram) in [
            (HistogramOf::Latency, &slice.latency_ns),
            (HistogramOf::CotenantWake, &slice.wake_delay_ns),
            (HistogramOf::CotenantTimer, &slice.timer_delay_ns),
            (HistogramOf::CotenantSameWorker, &slice.same_worker_delay_ns),
        ] {
            self.histograms.interval(tag(of), span, histogram)?;
        }
        self.tables.flush()?;
        self.histograms.flush()?;
        // Last, so that a slice in this table is complete in all others.
        self.tables.row(SLICES, row)?;
        self.tables.flush()
    }

    fn write_site(&mut self, slice: u32, site: Site, of: &ObservedSlice) -> Result<()> {
        let of = of.site(site);
        let row = SiteRow {
            slice,
            site,
            polls: of.polls(),
            ready: of.ready,
            pending: of.pending,
            yielded: of.yielded,
            iterations: of.iterations,
            total_ns: of.total_ns,
            lost: of.lost,
            children_lost: of.children_lost,
        };
        self.tables.row(SITES, &row)?;
        for (&(band, iterations), share) in &of.iterations_by_band {
            let row = BandRow {
                slice,
                site,
                from_ns: BANDS_FROM_NS[band],
                iterations,
                polls: share.polls,
                ns: share.ns,
            };
            self.tables.row(BANDS, &row)?;
        }
        for (&(band, child), share) in &of.children_by_band {
            let row = ChildRow {
                slice,
                site,
                from_ns: BANDS_FROM_NS[band],
                child: child.into(),
                polls: share.polls,
                ns: share.ns,
            };
            self.tables.row(CHILDREN, &row)?;
        }
        Ok(())
    }

    /// Writes what is kept for the whole run, and has the disk confirm everything.
    pub(crate) fn finish(
        mut self,
        per_peer: &BTreeMap<(usize, usize), Histogram<u64>>,
        span: Span,
    ) -> Result<()> {
        for (&(variant, peer), latency_ns) in per_peer {
            let tag = HistogramTag {
                of: HistogramOf::PeerLatency(peer + 1),
                slice: None,
                variant,
                pass: Pass::Compare,
            };
            self.histograms.interval(tag, span, latency_ns)?;
        }
        self.histograms.flush()?;
        self.tables.finish()?;
        self.histograms.finish()
    }
}

/// When an interval of the log is.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: Duration,
    pub(crate) duration: Duration,
}

impl Span {
    fn of(slice: &ObservedSlice) -> Span {
        Span {
            start: Duration::from_nanos(slice.start_ns),
            duration: Duration::from_nanos(slice.duration_ns),
        }
    }
}

/// An HdrHistogram interval log. Each interval is encoded by a writer of its own, which is what lets
/// the log be flushed in between.
pub(crate) struct HistogramLog {
    file: BufWriter<File>,
    name: String,
    serializer: V2DeflateSerializer,
}

impl HistogramLog {
    pub(crate) fn create(path: &Path) -> Result<HistogramLog> {
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        let mut log = HistogramLog {
            file: BufWriter::new(file),
            name: path.display().to_string(),
            serializer: V2DeflateSerializer::new(),
        };
        let now = SystemTime::now();
        let header = IntervalLogWriterBuilder::new()
            .add_comment(
                " Nanoseconds. A tag is WHAT.sSLICE.vVARIANT, WHAT a site or as RESULTS.md says.",
            )
            .with_start_time(now)
            .with_base_time(now)
            .with_max_value_divisor(1.0)
            .begin_log_with(&mut log.file, &mut log.serializer)
            .map(drop);
        header.with_context(|| format!("cannot write {}", log.name))?;
        Ok(log)
    }

    pub(crate) fn interval(
        &mut self,
        tag: HistogramTag,
        span: Span,
        histogram: &Histogram<u64>,
    ) -> Result<()> {
        if histogram.is_empty() {
            return Ok(());
        }
        let tag = tag.to_string();
        let tag = Tag::new(&tag).context("a tag has no comma, space or line end")?;
        let mut line = Vec::new();
        let mut headless = IntervalLogWriterBuilder::new();
        let written = headless
            .with_max_value_divisor(1.0)
            .begin_log_with(&mut line, &mut self.serializer)
            .map_err(|error| io::Error::other(format!("{error:?}")))
            .and_then(|mut writer| {
                writer
                    .write_histogram(histogram, span.start, span.duration, Some(tag))
                    .map_err(|error| io::Error::other(format!("{error:?}")))
            });
        written.with_context(|| format!("cannot encode a histogram for {}", self.name))?;
        // The header is in the file already; what is wanted of this one is its line.
        let lines = line
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| !line.starts_with(b"#"));
        for line in lines {
            self.file
                .write_all(line)
                .with_context(|| format!("cannot write {}", self.name))?;
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.file
            .flush()
            .with_context(|| format!("cannot write {}", self.name))
    }

    pub(crate) fn finish(self) -> Result<()> {
        let name = self.name;
        let file = self.file.into_inner().map_err(|error| error.into_error());
        file.and_then(|file| file.sync_all())
            .with_context(|| format!("cannot write {name}"))
    }
}
