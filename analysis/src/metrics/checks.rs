//! Checks that show whether a cell's figures can be trusted.

use run_format::{BlockRow, NetworkReport, Pass, RunRow, SLOW_NS, Site, SliceRow};

use crate::load::{Disturbances, LoadedRun, LoadedSite, LoadedSlice};
use crate::stats::{RatioPart, Spread, percent, quotient};

/// Checks over all runs of a cell. A check is None if the system does not provide it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Checks {
    /// The round trips of the TCP connects before the measurement.
    pub(crate) rtt_ms: Option<Spread>,
    /// The number of records that found a buffer full.
    pub(crate) lost: u64,
    /// The disturbed blocks, which no figure is made from.
    pub(crate) set_aside: Disturbances,
    /// The number of runs during which something else measured on this machine.
    pub(crate) beside: usize,
    pub(crate) steal_percent: Option<f64>,
    /// The share of the measured time in which central's worker was ready and waited for its core.
    pub(crate) waiting_percent: Option<f64>,
    /// The part of the time beyond 50 µs by the wall clock that polls of connections lost to other threads and to the
    /// hypervisor.
    pub(crate) lost_beyond_percent: Option<f64>,
    /// CPU time of processes that do not belong to the cell, in percent of one core.
    pub(crate) other_percent: Option<f64>,
    pub(crate) involuntary_switches_per_s: Option<f64>,
    pub(crate) retransmits: Option<u64>,
    pub(crate) drops: Option<u64>,
    /// The share of central's CPU time that recording took.
    pub(crate) probe_percent: Option<f64>,
    /// How many more polls of tasks the probe counted than `tokio_metrics`.
    pub(crate) monitor_polls_percent: Option<f64>,
    /// How many more slow polls of tasks the probe counted than `tokio_metrics`.
    pub(crate) monitor_slow_percent: Option<f64>,
    /// How much more time of all polls of tasks the probe counted than `tokio_metrics`.
    pub(crate) monitor_time_percent: Option<f64>,
    /// The share of central's CPU time in the kernel.
    pub(crate) kernel_percent: Option<f64>,
    /// The time of the fixed piece of work before each block.
    pub(crate) work_us: Option<Spread>,
    pub(crate) delay_late_us: Option<f64>,
}

impl Checks {
    pub(crate) fn make(rows: &[&RunRow], runs: &[LoadedRun]) -> Checks {
        let slices: Vec<&LoadedSlice> = compared(runs).map(|(_, slice)| slice).collect();
        let blocks: Vec<&BlockRow> = runs.iter().flat_map(|run| &run.block_rows).collect();
        let duration_ms: f64 = blocks.iter().map(|block| block.duration_ms).sum();
        let share = |ms: Option<f64>| percent(ms?, duration_ms);
        let total = |part: fn(&BlockRow) -> Option<f64>| total(&blocks, part);
        let user_ms = total(|block| block.central_user_ms);
        let system_ms = total(|block| block.central_system_ms);
        let cpu_ms = user_ms.zip(system_ms).map(|(user, system)| user + system);
        // If only one end has counts, there is no sum: half of it would look like all.
        let retransmits = total(|block| {
            Some((block.central_tcp_retransmits? + block.peers_tcp_retransmits?) as f64)
        });
        let excess = |ours: fn(&LoadedSite) -> u64, theirs: fn(&SliceRow) -> Option<u64>| {
            // The monitor's counts span a little more than the slice, so they are scaled to the slice's length.
            let both = sum_of_all(slices.iter().map(|slice| {
                let (row, counted) = (&slice.row, ours(slice.site(Site::Task)?));
                let scaled = theirs(row)? as f64 * row.duration_ms / row.sampled_ms;
                Some(RatioPart::new(counted as f64, scaled))
            }))?;
            Some(100.0 * (quotient(both.num, both.den)? - 1.0))
        };
        let work = runs.iter().flat_map(|run| &run.work);
        let switches = total(|block| Some(block.central_involuntary_switches? as f64));
        Checks {
            rtt_ms: round_trips(rows.iter().map(|row| &row.network)),
            lost: slices.iter().map(|slice| slice.lost()).sum(),
            set_aside: sum_of_disturbances(runs.iter().map(|run| &run.set_aside)),
            beside: rows.iter().filter(|row| row.beside.is_some()).count(),
            steal_percent: share(total(|block| block.central_core_steal_ms)),
            waiting_percent: share(total(|block| Some(block.central_runqueue_ns? as f64 / 1e6))),
            lost_beyond_percent: lost_beyond_percent(&slices),
            other_percent: total(|block| block.other_cpu_ms)
                .and_then(|ms| quotient(100.0 * ms, duration_ms)),
            involuntary_switches_per_s: switches.map(|count| 1000.0 * count / duration_ms),
            retransmits: retransmits.map(|count| count as u64),
            drops: drops(rows),
            probe_percent: probe_percent(runs),
            monitor_polls_percent: excess(|task| task.row.polls, |row| row.monitor_task_polls),
            monitor_slow_percent: excess(
                |task| task.row.wall_slow_polls,
                |row| row.monitor_slow_task_polls,
            ),
            monitor_time_percent: excess(|task| task.row.wall_ns, |row| row.monitor_task_ns),
            kernel_percent: system_ms.and_then(|ms| percent(ms, cpu_ms?)),
            work_us: Spread::over(work.map(|row| row.work_ns as f64 / 1e3)),
            delay_late_us: delay_late_us(rows),
        }
    }
}

fn lost_beyond_percent(slices: &[&LoadedSlice]) -> Option<f64> {
    let lost = sum_of_all(slices.iter().map(|slice| {
        let polled = Site::of_connections(slice.sites().map(|site| site.row.site));
        let site = slice.site(polled)?;
        let own_ns = site.duration_ns.beyond(SLOW_NS) as f64;
        let wall_ns = site.row.wall_beyond_ns as f64;
        Some(RatioPart::new((wall_ns - own_ns).max(0.0), wall_ns))
    }))?;
    percent(lost.num, lost.den)
}

pub(crate) fn sum_of_disturbances<'a>(all: impl Iterator<Item = &'a Disturbances>) -> Disturbances {
    all.flatten()
        .fold(Disturbances::new(), |mut sum, (disturbance, blocks)| {
            *sum.entry(*disturbance).or_default() += blocks;
            sum
        })
}

/// The sum over blocks. None if any block has no value, or if there is no block.
fn total(blocks: &[&BlockRow], part: impl Fn(&BlockRow) -> Option<f64>) -> Option<f64> {
    if blocks.is_empty() {
        return None;
    }
    blocks.iter().map(|block| part(block)).sum()
}

pub(crate) fn round_trips<'a>(runs: impl Iterator<Item = &'a NetworkReport>) -> Option<Spread> {
    let rtts = runs.filter_map(|network| network.rtt.as_ref());
    let links = rtts.flat_map(|rtt| &rtt.links);
    Spread::over(links.flat_map(|link| link.connects_ms.iter().copied()))
}

/// None if no counter of dropped packets could be read.
fn drops(rows: &[&RunRow]) -> Option<u64> {
    let counters = rows.iter().filter_map(|row| row.network.counters.as_ref());
    let all = counters.flat_map(|lab| std::iter::once(&lab.central).chain(&lab.peers));
    let dropped = all.flat_map(|node| [node.qdisc_dropped, node.queue_dropped, node.link_dropped]);
    dropped.flatten().reduce(|sum, more| sum + more)
}

/// None if one part is unknown.
fn sum_of_all(parts: impl Iterator<Item = Option<RatioPart>>) -> Option<RatioPart> {
    Some(RatioPart::sum(parts.collect::<Option<Vec<_>>>()?))
}

/// The slices of the pass that compares variants, each with its run.
fn compared(runs: &[LoadedRun]) -> impl Iterator<Item = (&LoadedRun, &LoadedSlice)> {
    let slices = runs
        .iter()
        .flat_map(|run| run.slices.iter().map(move |slice| (run, slice)));
    slices.filter(|(_, slice)| slice.row.pass == Pass::Compare)
}

/// The share of central's CPU time that the probe took. Each run measures what the probe costs, and every poll of every site
/// has this cost.
fn probe_percent(runs: &[LoadedRun]) -> Option<f64> {
    let taken = sum_of_all(compared(runs).map(|(run, slice)| {
        let (row, per_poll_ns) = (&slice.row, run.row.as_ref()?.probe_ns?);
        let polls: u64 = slice.sites().map(|site| site.row.polls).sum();
        let ns = per_poll_ns * polls as f64 * row.sampled_ms / row.duration_ms;
        Some(RatioPart::new(ns, row.central_cpu_ns? as f64))
    }))?;
    percent(taken.num, taken.den)
}

fn delay_late_us(rows: &[&RunRow]) -> Option<f64> {
    let lines = rows
        .iter()
        .filter_map(|row| row.network.delay_line.as_ref());
    let queues = lines.flat_map(|line| &line.queues);
    let late = RatioPart::sum(queues.filter_map(|queue| {
        let (late_us, packets) = (queue.mean_late_us?, queue.packets as f64);
        Some(RatioPart::new(late_us * packets, packets))
    }));
    quotient(late.num, late.den)
}
