//! A slice of a run: turns of one variant, and what was seen in them. A poll belongs to the slice in which it began, a
//! co-tenant's delay to the one in which the co-tenant should have run, and a request to the one in which it was answered.

use std::collections::BTreeMap;
use std::ops::Range;

use hdrhistogram::Histogram;
use poll_probe::{Outcome, Record, VariantId};
use run_format::{HistogramOf, SLOW_NS, Site, SiteRow, band_from_ns};

use crate::slices::cotenant::Delay;
use crate::slices::{Answered, PollSums, PollsWithChildren, Replay};

/// The lower end of each bucket of the time from a change of variant to a poll.
pub const AFTER_SWITCH_FROM_MS: [u64; 10] = [0, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// A histogram for one of many peers. It resizes itself and has two significant digits.
pub fn coarse_histogram() -> Histogram<u64> {
    Histogram::new(2).expect("two significant digits are few enough")
}

/// The quantile of a histogram, unless it is empty.
pub fn quantile(histogram: &Histogram<u64>, q: f64) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(q))
}

/// The histograms of a slice. A kind of duration that was not seen has no histogram.
#[derive(Default)]
pub struct Histograms(BTreeMap<HistogramOf, Histogram<u64>>);

impl Histograms {
    pub fn record(&mut self, kind: HistogramOf, ns: u64) {
        /// The longest duration that is told from longer ones.
        const LONGEST_NS: u64 = 3_600_000_000_000;
        let new = || Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("constants that fit");
        self.0.entry(kind).or_insert_with(new).saturating_record(ns);
    }

    pub fn get(&self, kind: HistogramOf) -> Option<&Histogram<u64>> {
        self.0.get(&kind)
    }

    pub fn all(&self) -> impl Iterator<Item = (HistogramOf, &Histogram<u64>)> {
        self.0.iter().map(|(kind, histogram)| (*kind, histogram))
    }

    pub fn count(&self, kind: HistogramOf) -> u64 {
        self.get(kind).map_or(0, Histogram::len)
    }

    /// The number of durations over `threshold_ns`, to the histogram's precision.
    pub fn slower_than(&self, kind: HistogramOf, threshold_ns: u64) -> u64 {
        self.get(kind).map_or(0, |histogram| {
            histogram.len() - histogram.count_between(0, threshold_ns)
        })
    }

    pub fn quantile(&self, kind: HistogramOf, q: f64) -> Option<u64> {
        quantile(self.get(kind)?, q)
    }
}

/// A slice with everything that was seen in its turns so far.
#[derive(Default)]
pub struct ObservedSlice {
    pub variant: VariantId,
    /// The site whose polls tell how slow connections are.
    pub connection_site: Site,
    /// The turn that is measured now, or was last.
    turn: TurnWindow,
    /// The turn before. Polls that began in it may end during this one.
    turn_before: TurnWindow,
    pub start_ns: u64,
    /// The time of the turns that are over.
    pub duration_ns: u64,
    pub turns: u32,
    /// Polls of connections by when they began in their turn, like [`AFTER_SWITCH_FROM_MS`].
    pub after_switch: [PollSums; AFTER_SWITCH_FROM_MS.len()],
    /// Polls of connections by the number that their thread has in the recorder. 0 is the main thread.
    pub workers: BTreeMap<usize, PollSums>,
    /// The index is `Site as usize`.
    pub sites: [ObservedSite; Site::ALL.len()],
    pub histograms: Histograms,
    pub peer_latency_ns: Vec<Histogram<u64>>,
    /// The time before its turn in which the process was paused.
    pub paused_ns: Range<u64>,
    /// Requests that were sent before the slice began, perhaps under another variant.
    pub begun_before: u64,
    pub bytes: u64,
    /// The number of messages that should have reached central.
    pub expected: u64,
    /// Requests and delays that were lost because a buffer was full.
    pub lost_entries: u64,
    /// Present in the pass `children`, whose polls are replayed under bounds.
    pub replay: Option<Replay>,
    /// Present if the run explains a cell.
    pub with_children: Option<PollsWithChildren>,
}

/// The time of a turn, and the time at which its variant was put in force.
#[derive(Clone, Default)]
pub struct TurnWindow {
    ns: Range<u64>,
    switched_ns: u64,
}

/// The polls of a site in a slice. A band of durations is named by its lower end.
#[derive(Default)]
pub struct ObservedSite {
    /// The field `slice` is set when the slice is written.
    pub row: SiteRow,
    pub iterations_by_band: BTreeMap<(u64, Option<u32>), PollSums>,
    pub children_by_band: BTreeMap<(u64, &'static str), PollSums>,
}

impl ObservedSite {
    /// The sums over all polls of the site.
    pub fn sums(&self) -> PollSums {
        let bands = self.iterations_by_band.values();
        bands.fold(PollSums::default(), |sums, band| PollSums {
            polls: sums.polls + band.polls,
            slow: sums.slow + band.slow,
            ns: sums.ns + band.ns,
            beyond_ns: sums.beyond_ns + band.beyond_ns,
            longest_ns: sums.longest_ns.max(band.longest_ns),
        })
    }

    fn add(&mut self, record: &Record<'_>) {
        let row = &mut self.row;
        row.polls += 1;
        match record.outcome {
            Outcome::Ready => row.ready += 1,
            Outcome::Pending => row.pending += 1,
            Outcome::Yielded => row.yielded += 1,
        }
        if let Some(iterations) = record.iterations {
            *row.iterations.get_or_insert_default() += u64::from(iterations);
        }
        row.own_ns += record.own_ns();
        row.wall_ns += record.duration_ns;
        row.wall_slow_polls += u64::from(record.duration_ns > SLOW_NS);
        row.wall_beyond_ns += record.duration_ns.saturating_sub(SLOW_NS);
        row.children_lost += u64::from(record.entries_lost);
        let from_ns = band_from_ns(record.own_ns());
        let band = self.iterations_by_band.entry((from_ns, record.iterations));
        band.or_default().add(record.own_ns());
        for poll in record.children {
            let child = self.children_by_band.entry((from_ns, poll.child));
            child.or_default().add(poll.own_ns());
        }
    }
}

impl ObservedSlice {
    /// A slice whose first turn goes on until it is [ended](ObservedSlice::end_turn). Its variant was put in force at
    /// `switched_ns`.
    pub fn open(variant: VariantId, at_ns: u64, switched_ns: u64, peers: usize) -> ObservedSlice {
        let mut sites: [ObservedSite; _] = Default::default();
        for site in Site::ALL {
            sites[site as usize].row.site = site;
        }
        ObservedSlice {
            variant,
            turn: TurnWindow {
                ns: at_ns..u64::MAX,
                switched_ns,
            },
            start_ns: at_ns,
            turns: 1,
            sites,
            peer_latency_ns: (0..peers).map(|_| coarse_histogram()).collect(),
            ..ObservedSlice::default()
        }
    }

    /// Begins another turn of the slice.
    pub fn begin_turn(&mut self, switched_ns: u64, at_ns: u64) {
        let turn = TurnWindow {
            ns: at_ns..u64::MAX,
            switched_ns,
        };
        self.turn_before = std::mem::replace(&mut self.turn, turn);
        self.turns += 1;
    }

    /// Ends a turn. Polls that began before `at_ns` and end later still count.
    pub fn end_turn(&mut self, at_ns: u64) {
        self.turn.ns.end = at_ns;
        self.duration_ns += at_ns - self.turn.ns.start;
        if let Some(polls) = &mut self.with_children {
            polls.window_ns = self.turn.ns.clone();
        }
    }

    /// Leaves out the polls that are not over yet, since other programs get the core now.
    pub fn ignore_late_polls(&mut self) {
        self.turn.ns = 0..0;
    }

    pub fn site(&self, site: Site) -> &ObservedSite {
        &self.sites[site as usize]
    }

    /// The number of polls that budgets ended, at all sites.
    pub fn yielded(&self) -> u64 {
        self.sites.iter().map(|site| site.row.yielded).sum()
    }

    /// The number of answered requests of each peer.
    pub fn requests(&self) -> impl Iterator<Item = u64> {
        self.peer_latency_ns.iter().map(Histogram::len)
    }

    /// The turn that this time is in: the present one or the one before.
    pub fn turn_of(&self, at_ns: u64) -> Option<&TurnWindow> {
        let turns = [&self.turn, &self.turn_before];
        turns.into_iter().find(|turn| turn.ns.contains(&at_ns))
    }

    pub fn add_record(&mut self, record: &Record<'_>) {
        let turn = match record.variant == self.variant {
            true => self.turn_of(record.start_ns),
            false => None,
        };
        let belongs = turn.is_some();
        if let Some(&TurnWindow { switched_ns, .. }) = turn {
            let site = Site::from(record.site);
            self.sites[site as usize].add(record);
            let histograms = &mut self.histograms;
            histograms.record(HistogramOf::Polls(site), record.own_ns());
            histograms.record(HistogramOf::PollsByWall(site), record.duration_ns);
            if let Some(longest_ns) = record.longest_iteration_ns {
                histograms.record(HistogramOf::LongestIteration(site), longest_ns);
            }
            if let Some(replay) = &mut self.replay {
                replay.add(record);
            }
            if record.site == self.connection_site {
                let after_ns = record.start_ns.saturating_sub(switched_ns);
                let begun = |from_ms: &u64| from_ms * 1_000_000 <= after_ns;
                let bucket = AFTER_SWITCH_FROM_MS.partition_point(begun) - 1;
                self.after_switch[bucket].add(record.own_ns());
                let worker = self.workers.entry(record.thread).or_default();
                worker.add(record.own_ns());
            }
        }
        if let Some(polls) = &mut self.with_children {
            polls.idle.note(record, belongs);
            if belongs {
                polls.add(record);
            }
        }
    }

    /// Adds a co-tenant's delay. If the worker's clock was not read, the delay by the wall clock counts.
    pub fn add_delay(&mut self, histogram: HistogramOf, delay: Delay) {
        let own_ns = delay.own_ns.unwrap_or(delay.wall_ns);
        self.histograms.record(histogram, own_ns);
        if histogram == HistogramOf::CotenantWake {
            let by_wall = HistogramOf::CotenantWakeByWall;
            self.histograms.record(by_wall, delay.wall_ns);
        }
    }

    pub fn add_request(&mut self, answered: Answered) {
        if let Some(turn) = self.turn_of(answered.at_ns) {
            let start_ns = turn.ns.start;
            let sent_ns = answered.at_ns.saturating_sub(answered.latency_ns);
            // A paused program sends requests, too, since it runs for a moment now and then.
            let waited_from_ns = sent_ns.max(self.paused_ns.start);
            let paused_ns = self.paused_ns.end.saturating_sub(waited_from_ns);
            let latency_ns = answered.latency_ns.saturating_sub(paused_ns);
            self.histograms.record(HistogramOf::Latency, latency_ns);
            if answered.is_last {
                self.histograms
                    .record(HistogramOf::LastDelivery, latency_ns);
            }
            // An application does not tell peers apart.
            if let Some(peer_latency_ns) = self.peer_latency_ns.get_mut(answered.peer) {
                // This cannot fail, because the histogram resizes itself.
                let _ = peer_latency_ns.record(latency_ns);
            }
            self.bytes += answered.bytes;
            self.expected += answered.expected;
            self.begun_before += u64::from(sent_ns < start_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use poll_probe::{Capacity, Invocation, Mode, Recorder, Variant};
    use run_format::Budgets;

    use super::*;

    #[test]
    fn a_pause_is_no_latency_whether_a_request_was_sent_before_it_or_in_it() {
        let variant = Variant::default().install();
        for (sent_ns, latency_ns) in [(50, 110), (100, 60), (3_000, 60), (5_010, 50)] {
            let mut slice = ObservedSlice::open(variant, 5_000, 0, 1);
            slice.paused_ns = 100..5_000;
            slice.add_request(Answered {
                at_ns: 5_060,
                latency_ns: 5_060 - sent_ns,
                ..Answered::default()
            });
            let measured = &slice.peer_latency_ns[0];
            assert_eq!(
                (measured.len(), measured.max()),
                (1, latency_ns),
                "{sent_ns}"
            );
        }
    }

    #[test]
    fn polls_belong_to_the_slice_and_the_variant_that_they_began_in() {
        let recorder = Arc::new(Recorder::new(Capacity {
            records: 100,
            marks: 200,
        }));
        recorder.attach();
        let variant = |budgets: &str| Variant {
            budgets: budgets.parse::<Budgets>().expect("budgets").in_central(),
            mode: Mode::Minimal,
        };
        let other = variant("connection=9").install();
        drop(Invocation::enter(Site::Connection.into(), &[]));
        let this = variant("none").install();
        drop(Invocation::enter(Site::Connection.into(), &[])); // Before the slice.
        let mut slice = ObservedSlice::open(this, recorder.now_ns(), 0, 1);
        drop(Invocation::enter(Site::Connection.into(), &[]));
        drop(Invocation::enter(Site::Muxer.into(), &[]));
        let lasting = Invocation::enter(Site::Connection.into(), &[]);
        slice.end_turn(recorder.now_ns());
        drop(Invocation::enter(Site::Connection.into(), &[])); // After it.
        drop(lasting);
        let lost = recorder
            .drain(|record| slice.add_record(record))
            .lost(Site::Connection.into());
        assert_eq!(
            (
                slice.site(Site::Connection).row.polls,
                slice.site(Site::Muxer).row.polls,
                lost
            ),
            (2, 1, 0)
        );
        assert_ne!(this, other);
        let (_, share) = slice
            .site(Site::Muxer)
            .iterations_by_band
            .first_key_value()
            .expect("one poll");
        assert_eq!(share.polls, 1);
    }
}
