//! Writes the slices of a run, each to disk before the next.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use run_format::files::{
    BANDS, BOUNDS, CHILDREN, HISTOGRAMS, PEERS, QUIC, SITES, SLICES, TURNS, WORKERS,
};
use run_format::{
    BandRow, BoundRow, ChildRow, Cores, HistogramOf, HistogramTag, Pass, PeerRow, QuicRow, Site,
    SiteRow, SliceRow, TableWriters, TurnRow, WorkerRow,
};

use crate::slices::{
    AFTER_SWITCH_FROM_MS, CpuTime, ObservedSlice, Pieces, PollSums, coarse_histogram, quantile,
};

/// The tables and histograms of a run that goes on.
pub struct RunWriter {
    tables: TableWriters,
    /// The cores of each worker. Empty if there is only one worker.
    workers: Vec<Option<Cores>>,
    histograms: HistogramLog,
    /// The latency over the whole run, by variant and peer.
    per_peer: BTreeMap<(usize, usize), Histogram<u64>>,
    /// The sites that have rows.
    sites: Vec<Site>,
}

impl RunWriter {
    /// Creates the files in the folder `dir`. `sites` are the sites of the program. `workers` has the cores of each worker,
    /// and is empty if there is only one.
    pub fn create(dir: &Path, sites: Vec<Site>, workers: Vec<Option<Cores>>) -> Result<RunWriter> {
        let mut tables = vec![SLICES, TURNS, SITES, BANDS, CHILDREN, BOUNDS, PEERS];
        if sites.iter().any(|site| site.is_of_quic()) {
            tables.push(QUIC);
        }
        if !workers.is_empty() {
            tables.push(WORKERS);
        }
        Ok(RunWriter {
            tables: TableWriters::create(dir, &tables)?,
            workers,
            histograms: HistogramLog::create(&dir.join(HISTOGRAMS))?,
            per_peer: BTreeMap::new(),
            sites,
        })
    }

    /// Adds a site that was polled for the first time in slice `first`. The slices before have no poll of it.
    pub fn add_site(&mut self, site: Site, first: u32) -> Result<()> {
        self.sites.push(site);
        let none = |slice| SiteRow {
            slice,
            site,
            ..SiteRow::default()
        };
        self.tables.rows(SITES, (1..first).map(none))
    }

    /// Writes a slice. `used` has the CPU time of each thread, the workers first.
    pub fn write(
        &mut self,
        row: &SliceRow,
        observed: &ObservedSlice,
        used: &[CpuTime],
        quic: Option<QuicRow>,
    ) -> Result<()> {
        self.tables.rows(QUIC, quic)?;
        self.write_workers(row.slice, observed, used)?;
        self.write_requests(row, observed)?;
        self.write_polls(row.slice, observed)?;
        self.write_histograms(row, observed)?;
        self.tables.flush()?;
        // This row comes last, so that a slice with a row here is complete in all other tables.
        self.tables.row(SLICES, row)?;
        self.tables.flush()
    }

    fn write_workers(
        &mut self,
        slice: u32,
        observed: &ObservedSlice,
        used: &[CpuTime],
    ) -> Result<()> {
        let workers = self.workers.iter().zip(used).enumerate();
        let rows = workers.map(|(worker, (cores, used))| {
            let sums = observed.workers.get(&worker).copied().unwrap_or_default();
            WorkerRow {
                slice,
                worker,
                cores: cores.clone(),
                polls: sums.polls,
                slow_polls: sums.slow,
                poll_ns: sums.ns,
                cpu_ns: used.cpu_ns,
                runqueue_ns: used.runqueue_ns,
            }
        });
        self.tables.rows(WORKERS, rows)
    }

    fn write_requests(&mut self, row: &SliceRow, observed: &ObservedSlice) -> Result<()> {
        for (peer, latency_ns) in observed.peer_latency_ns.iter().enumerate() {
            let peer_row = PeerRow {
                slice: row.slice,
                peer: peer + 1,
                requests: latency_ns.len(),
                latency_p50_ns: quantile(latency_ns, 0.5),
                latency_p99_ns: quantile(latency_ns, 0.99),
            };
            self.tables.row(PEERS, &peer_row)?;
            if row.pass == Pass::Compare {
                let sum = self.per_peer.entry((row.variant, peer));
                sum.or_insert_with(coarse_histogram).add(latency_ns)?;
            }
        }
        Ok(())
    }

    fn write_polls(&mut self, slice: u32, observed: &ObservedSlice) -> Result<()> {
        let buckets = AFTER_SWITCH_FROM_MS.into_iter().zip(&observed.after_switch);
        let turns = buckets.map(|(from_ms, sums)| TurnRow {
            slice,
            from_ms,
            polls: sums.polls,
            slow_polls: sums.slow,
        });
        self.tables.rows(TURNS, turns.filter(|row| row.polls > 0))?;
        let replayed = observed.replay.iter().flat_map(|replay| &replay.0);
        let bounds = replayed.map(|Pieces { site, budget, sums }| BoundRow {
            slice,
            site: *site,
            budget: *budget,
            pieces: sums.polls,
            slow_pieces: sums.slow,
            longest_ns: sums.longest_ns,
            beyond_ns: sums.beyond_ns,
        });
        self.tables
            .rows(BOUNDS, bounds.filter(|row| row.pieces > 0))?;
        for at_site in self.sites.iter().map(|site| observed.site(*site)) {
            let row = SiteRow {
                slice,
                ..at_site.row.clone()
            };
            self.tables.row(SITES, &row)?;
            let band = |(&(from_ns, iterations), sums): (&(u64, Option<u32>), &PollSums)| BandRow {
                slice,
                site: row.site,
                from_ns,
                iterations,
                polls: sums.polls,
                ns: sums.ns,
            };
            self.tables
                .rows(BANDS, at_site.iterations_by_band.iter().map(band))?;
            let child = |(&(from_ns, child), sums): (&(u64, &'static str), &PollSums)| ChildRow {
                slice,
                site: row.site,
                from_ns,
                child: child.into(),
                polls: sums.polls,
                ns: sums.ns,
                beyond_ns: sums.beyond_ns,
            };
            self.tables
                .rows(CHILDREN, at_site.children_by_band.iter().map(child))?;
        }
        Ok(())
    }

    fn write_histograms(&mut self, row: &SliceRow, observed: &ObservedSlice) -> Result<()> {
        let when_ns = [observed.start_ns, observed.duration_ns];
        for (kind, histogram) in observed.histograms.all() {
            let tag = HistogramTag {
                of: kind,
                slice: Some(row.slice),
                variant: row.variant,
                pass: row.pass,
            };
            self.histograms.interval(tag, when_ns, histogram)?;
        }
        Ok(())
    }

    /// Ends the run: writes the histograms of the whole run, and waits until everything is on disk.
    pub fn finish(mut self, now_ns: u64) -> Result<()> {
        for (&(variant, peer), latency_ns) in &self.per_peer {
            let tag = HistogramTag {
                of: HistogramOf::PeerLatency(peer + 1),
                slice: None,
                variant,
                pass: Pass::Compare,
            };
            self.histograms.interval(tag, [0, now_ns], latency_ns)?;
        }
        self.tables.finish()?;
        let synced = self.histograms.file.sync_all();
        synced.with_context(|| self.histograms.cannot_write())
    }
}

/// An interval log in the format of HdrHistogram. Each interval has an encoder of its own, so that it is written at once.
struct HistogramLog {
    file: File,
    name: String,
    serializer: V2DeflateSerializer,
}

impl HistogramLog {
    fn create(path: &Path) -> Result<HistogramLog> {
        let name = path.display().to_string();
        let file = File::create(path).with_context(|| format!("cannot create {name}"))?;
        let mut log = HistogramLog {
            file,
            name,
            serializer: V2DeflateSerializer::new(),
        };
        let now = SystemTime::now();
        let mut header = Vec::new();
        IntervalLogWriterBuilder::new()
            .add_comment(
                " Nanoseconds. A tag is WHAT.sSLICE.vVARIANT, WHAT a site or as RESULTS.md says.",
            )
            .with_start_time(now)
            .with_base_time(now)
            .begin_log_with(&mut header, &mut log.serializer)?;
        log.write(&header)?;
        Ok(log)
    }

    /// Writes one interval. `when_ns` is its beginning and its length.
    fn interval(
        &mut self,
        tag: HistogramTag,
        when_ns: [u64; 2],
        histogram: &Histogram<u64>,
    ) -> Result<()> {
        if histogram.is_empty() {
            return Ok(());
        }
        let text = tag.to_string();
        let tag = Tag::new(&text)
            .with_context(|| format!("tag {text:?} has a comma, space or line end"))?;
        let [start, duration] = when_ns.map(Duration::from_nanos);
        let mut line = Vec::new();
        let written = IntervalLogWriterBuilder::new()
            .begin_log_with(&mut line, &mut self.serializer)?
            .write_histogram(histogram, start, duration, Some(tag));
        let name = &self.name;
        written.map_err(|error| anyhow!("cannot encode a histogram for {name}: {error:?}"))?;
        self.write(&line)
    }

    fn write(&mut self, text: &[u8]) -> Result<()> {
        let written = self.file.write_all(text);
        written.with_context(|| self.cannot_write())
    }

    fn cannot_write(&self) -> String {
        format!("cannot write {}", self.name)
    }
}
