//! What tells whether a cell's figures can be trusted.

use crate::{
    load::{
        run::Run,
        run_row::RunRow,
        slice::{Pass, Slice},
    },
    site::Site,
};

/// What `tokio_metrics` calls slow.
const MONITOR_SLOW_NS: u64 = 50_000;

/// Over all runs of a cell. What could not be asked is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Checks {
    /// Of the TCP connects before the measurement: smallest, median, largest.
    pub(crate) rtt_ms: Option<(f64, f64, f64)>,
    /// Records that found a buffer full.
    pub(crate) lost: u64,
    /// Share of the measured time that the hypervisor gave to others, of one core.
    pub(crate) steal_percent: Option<f64>,
    /// Share of the measured time that central's worker was ready and waited for its core.
    pub(crate) waiting_percent: Option<f64>,
    pub(crate) involuntary_switches_per_s: Option<f64>,
    pub(crate) retransmits: Option<u64>,
    pub(crate) drops: Option<u64>,
    /// What recording took, of central's CPU time.
    pub(crate) probe_percent: Option<f64>,
    /// Polls of tasks: the probe's over those of `tokio_metrics`, minus one.
    pub(crate) monitor_polls_percent: Option<f64>,
    /// Those over the threshold that `tokio_metrics` has, likewise.
    pub(crate) monitor_slow_percent: Option<f64>,
    /// Their time, likewise.
    pub(crate) monitor_time_percent: Option<f64>,
    /// System time over CPU time of central.
    pub(crate) kernel_percent: Option<f64>,
    /// How late the delay line's verdicts are, on average.
    pub(crate) delay_late_us: Option<f64>,
}

impl Checks {
    pub(crate) fn of(rows: &[&RunRow], runs: &[Run]) -> Checks {
        let slices: Vec<&Slice> = runs
            .iter()
            .flat_map(|run| &run.slices)
            .filter(|slice| slice.pass == Pass::Compare)
            .collect();
        let sampled_ms: f64 = slices.iter().map(|slice| slice.sampled_ms).sum();
        let share = |ms: Option<f64>| ms.map(|ms| 100.0 * ms / sampled_ms);
        let total = |part: fn(&Slice) -> Option<f64>| total(&slices, part);
        let user_ms = total(|slice| slice.central_user_ms);
        let system_ms = total(|slice| slice.central_system_ms);
        let switches = total(|slice| slice.involuntary_switches.map(|count| count as f64));
        Checks {
            rtt_ms: rtt_ms(rows),
            lost: slices.iter().map(|slice| lost(slice)).sum(),
            steal_percent: share(total(|slice| slice.steal_ms)),
            waiting_percent: share(total(|slice| {
                slice.central_runqueue_ns.map(|ns| ns as f64 / 1e6)
            })),
            involuntary_switches_per_s: switches.map(|count| 1000.0 * count / sampled_ms),
            retransmits: whole(total(|slice| slice.retransmits.map(|count| count as f64))),
            drops: drops(rows),
            probe_percent: probe_percent(runs),
            monitor_polls_percent: against_monitor(&slices, |slice| {
                Some((slice.site(Site::Task)?.polls, slice.monitor_task_polls))
            }),
            monitor_slow_percent: against_monitor(&slices, |slice| {
                let ours = slice.site(Site::Task)?.duration_ns.above(MONITOR_SLOW_NS);
                Some((ours, slice.monitor_slow_task_polls))
            }),
            monitor_time_percent: against_monitor(&slices, |slice| {
                Some((slice.site(Site::Task)?.total_ns, slice.monitor_task_ns))
            }),
            kernel_percent: user_ms
                .zip(system_ms)
                .filter(|(user, system)| user + system > 0.0)
                .map(|(user, system)| 100.0 * system / (user + system)),
            delay_late_us: delay_late_us(rows),
        }
    }
}

/// Absent if any slice could not tell.
fn total(slices: &[&Slice], part: impl Fn(&Slice) -> Option<f64>) -> Option<f64> {
    if slices.is_empty() {
        return None;
    }
    slices.iter().map(|slice| part(slice)).sum()
}

fn whole(count: Option<f64>) -> Option<u64> {
    count.map(|count| count as u64)
}

fn lost(slice: &Slice) -> u64 {
    let of_sites: u64 = slice.sites.iter().flatten().map(|of| of.lost).sum();
    of_sites + slice.lost_entries
}

fn rtt_ms(rows: &[&RunRow]) -> Option<(f64, f64, f64)> {
    let mut connects: Vec<f64> = rows
        .iter()
        .filter_map(|row| row.network.rtt.as_ref())
        .flat_map(|rtt| &rtt.links)
        .flat_map(|link| link.connects_ms.iter().copied())
        .collect();
    connects.sort_by(f64::total_cmp);
    let (first, last) = (connects.first()?, connects.last()?);
    Some((*first, connects[connects.len() / 2], *last))
}

fn drops(rows: &[&RunRow]) -> Option<u64> {
    rows.iter()
        .filter_map(|row| row.network.counters.as_ref())
        .flat_map(|counters| std::iter::once(&counters.central).chain(&counters.peers))
        .filter_map(|namespace| namespace.dropped())
        .reduce(|sum, more| sum + more)
}

/// The probe's cost was timed in each run; a poll of any site pays it.
fn probe_percent(runs: &[Run]) -> Option<f64> {
    let (mut probe_ns, mut cpu_ns) = (0.0, 0.0);
    for run in runs {
        let per_poll_ns = run.row.as_ref()?.probe_ns?;
        for slice in run
            .slices
            .iter()
            .filter(|slice| slice.pass == Pass::Compare)
        {
            let polls: u64 = slice.sites.iter().flatten().map(|of| of.polls).sum();
            probe_ns += per_poll_ns * polls as f64 * slice.sampled_ms / slice.duration_ms;
            cpu_ns += slice.central_cpu_ns? as f64;
        }
    }
    (cpu_ns > 0.0).then(|| 100.0 * probe_ns / cpu_ns)
}

/// The monitor is read a moment around the slice; its count is brought to the slice's length.
fn against_monitor(slices: &[&Slice], both: impl Fn(&Slice) -> Option<(u64, u64)>) -> Option<f64> {
    let (mut ours, mut theirs) = (0.0, 0.0);
    for slice in slices {
        let (probe, monitor) = both(slice)?;
        ours += probe as f64;
        theirs += monitor as f64 * slice.duration_ms / slice.sampled_ms;
    }
    (theirs > 0.0).then(|| 100.0 * (ours / theirs - 1.0))
}

fn delay_late_us(rows: &[&RunRow]) -> Option<f64> {
    let (mut late_us, mut packets) = (0.0, 0.0);
    for line in rows
        .iter()
        .filter_map(|row| row.network.delay_line.as_ref())
    {
        for queue in &line.queues {
            if let Some(mean) = queue.mean_late_us {
                late_us += mean * queue.packets as f64;
                packets += queue.packets as f64;
            }
        }
    }
    (packets > 0.0).then(|| late_us / packets)
}
