//! Reads counts that the kernel and the runtime keep since the start, before and after each turn and each block.

use std::time::Instant;

use anyhow::Result;
use nix::time::ClockId;
use node_ab::slices::{CpuTime, Sums, ns, sums};
use poll_probe::{MuxerCounts, QuicCounts, muxer_counts, quic_counts};
use run_format::{BlockRow, Cores, QuicRow, SliceRow};
use tokio_metrics::{RuntimeIntervals, RuntimeMonitor, TaskMonitor};

use crate::observe::network;
use crate::observe::process::{self, CoreTimes, Observee, Usage};
use crate::observe::threads;
use crate::observed_central::ObservedCentral;
use crate::process::shared_page::SharedPage;
use crate::profiler::{UserCounts, UserWork};

pub(super) struct CounterReader {
    began: Instant,
    /// None if the stack starts its tasks itself.
    tasks: Option<TaskMonitor>,
    intervals: RuntimeIntervals,
    /// The runtime's sums since the start. tokio-metrics only has differences.
    busy_ns: u64,
    parks: u64,
    central: Vec<Observee>,
    /// The counters of each worker. None if the processor's counters cannot be read.
    user_work: Option<Vec<UserWork>>,
    /// Threads that libraries started in central's process.
    helpers: Vec<Observee>,
    /// Threads that measure, in central's process.
    observers: Vec<Observee>,
    peers: Vec<Observee>,
    page: Option<SharedPage>,
    delay_line: Option<Observee>,
    /// The number of calls of `finds_stopped`.
    looks: usize,
    central_cores: Cores,
    /// The lines of `/proc/stat` that are read: that of all cores, or those of the cell's cores if other cells are measured at
    /// the same time.
    read_cores: Vec<String>,
    /// The sum of all round-trip times that were read.
    rtts_ns: u64,
    /// The number of round-trip times that were read.
    rtts: u64,
    /// The sum of all states of yamux that were read.
    muxers: MuxerCounts,
}

/// Counts that take little time to read, since they are read twice in every turn. They are counts since the start, or the
/// difference of two readings.
#[derive(Clone)]
pub(super) struct QuickCounts {
    /// The columns of a slice that are such counts. The others are empty.
    pub(super) row: SliceRow,
    /// The CPU time of each thread of central.
    pub(super) workers: Vec<CpuTime>,
    /// None without connections of QUIC.
    pub(super) quic: Option<QuicCounts>,
}
sums!(QuickCounts: row, workers, quic);
sums!(UserCounts: instructions, cycles);

/// Counts of the kernel that take long to read, in the columns of a block. Two columns differ from those in the file:
/// `other_cpu_ms` leaves out only central, and `clock_set_ms` is by how much the time of day is ahead of the time since the
/// boot.
pub(super) struct MachineReading(pub(super) BlockRow);

impl CounterReader {
    pub(super) fn new(central: &ObservedCentral) -> Result<CounterReader> {
        let (config, others) = (&central.task.config, &central.task.others);
        let central_cores = config.lab.placement.central_cores();
        let (observers, helpers) = threads::other_threads(&central.workers)?;
        let monitor = central.tasks.clone();
        let peers = others.peers.iter().copied();
        Ok(CounterReader {
            began: Instant::now(),
            tasks: (monitor.cumulative().instrumented_count > 0).then_some(monitor),
            intervals: RuntimeMonitor::new(&central.activity.runtime).intervals(),
            busy_ns: 0,
            parks: 0,
            central: central.workers.clone(),
            user_work: central.workers.iter().map(process::user_work).collect(),
            helpers,
            observers,
            peers: peers.map(Observee::Process).collect(),
            page: central.page,
            delay_line: others.delay_line.map(Observee::Process),
            looks: 0,
            read_cores: match config.jobs {
                None => vec!["cpu".to_owned()],
                Some(_) => {
                    let peer_cores = config.lab.placement.peers.iter();
                    let cores = central_cores.iter().chain(peer_cores);
                    cores.map(|core| format!("cpu{core}")).collect()
                }
            },
            central_cores,
            rtts_ns: 0,
            rtts: 0,
            muxers: MuxerCounts::default(),
        })
    }

    pub(super) fn quick_counts(&mut self) -> QuickCounts {
        let threads = self.central.iter();
        let workers: Vec<CpuTime> = threads.map(|thread| thread.cpu_time()).collect();
        let summed = workers.iter().copied().reduce(CpuTime::plus);
        let central = summed.unwrap_or_default();
        if let Some(interval) = self.intervals.next() {
            self.busy_ns += ns(interval.total_busy_duration);
            self.parks += interval.total_park_count;
        }
        let tasks = self.tasks.as_ref().map(TaskMonitor::cumulative);
        let yamux = self.yamux();
        let counts: Option<Vec<UserCounts>> = self
            .user_work
            .iter()
            .flatten()
            .map(UserWork::read)
            .collect();
        let user = counts.into_iter().flatten().reduce(Sums::plus);
        QuickCounts {
            row: SliceRow {
                sampled_ms: self.began.elapsed().as_secs_f64() * 1e3,
                central_cpu_ns: central.cpu_ns,
                central_runqueue_ns: central.runqueue_ns,
                central_instructions: user.map(|counts| counts.instructions),
                central_cycles: user.map(|counts| counts.cycles),
                peers_cpu_ns: process::processes_cpu_ns(&self.peers),
                peers_yielded: self.page.map(SharedPage::yields),
                helpers_cpu_ns: process::cpu_time(&self.helpers).cpu_ns,
                observers_cpu_ns: process::cpu_time(&self.observers).cpu_ns,
                monitor_task_polls: tasks.map(|tasks| tasks.total_poll_count),
                monitor_task_ns: tasks.map(|tasks| ns(tasks.total_poll_duration)),
                monitor_slow_task_polls: tasks.map(|tasks| tasks.total_slow_poll_count),
                monitor_scheduled_ns: tasks.map(|tasks| ns(tasks.total_scheduled_duration)),
                runtime_busy_ns: self.busy_ns,
                runtime_parks: self.parks,
                yamux_rtt_ns: yamux.map(|yamux| yamux.rtt_ns),
                yamux_grown_bytes: yamux.map(|yamux| yamux.grown_bytes),
                yamux_credit_bytes: yamux.map(|yamux| yamux.credit_bytes),
                yamux_unread_bytes: yamux.map(|yamux| yamux.unread_bytes),
                ..SliceRow::default()
            },
            workers,
            quic: self.quic(),
        }
    }

    /// The counts of QUIC. Round-trip times are summed up over all readings, so that the difference of two has those of the
    /// later one.
    fn quic(&mut self) -> Option<QuicCounts> {
        let now = quic_counts().into_iter().reduce(Sums::plus)?;
        self.rtts_ns += now.rtt_ns;
        self.rtts += now.connections;
        Some(QuicCounts {
            rtt_ns: self.rtts_ns,
            connections: self.rtts,
            ..now
        })
    }

    /// The states of yamux, summed up over all readings in the same way. None before yamux has an estimate of the round trip.
    fn yamux(&mut self) -> Option<MuxerCounts> {
        let mut now = muxer_counts().into_iter().reduce(Sums::plus)?;
        now.rtt_ns = now.rtt_ns.checked_div(now.connections)?;
        self.muxers = self.muxers.plus(now);
        Some(self.muxers)
    }

    /// Looks at the next of the peers and the delay line, in turn. Returns whether it is stopped, or None if they are all on
    /// other hosts.
    pub(super) fn finds_stopped(&mut self) -> Option<bool> {
        self.looks += 1;
        let mut watched = self.peers.iter().chain(&self.delay_line);
        let next = self.looks.checked_rem(watched.clone().count())?;
        Some(watched.nth(next)?.is_stopped())
    }

    pub(super) fn machine(&self) -> MachineReading {
        let cores = CoreTimes::read();
        let central_cores = self.central_cores.iter().map(|core| format!("cpu{core}"));
        let cpu_time = process::cpu_time(&self.central);
        let threads = [&self.central, &self.helpers, &self.observers].map(Vec::as_slice);
        let central_cpu_ns = process::cpu_time(&threads.concat()).cpu_ns;
        let read_cores = self.read_cores.iter();
        let processes_ms: Option<f64> = read_cores.map(|core| cores.process_ms(core)).sum();
        let other_ms = |(all_ms, central_cpu_ns): (f64, u64)| all_ms - central_cpu_ns as f64 / 1e6;
        let central = process::total(&self.central);
        // The figures of peers on other hosts are absent.
        let peers = process::total(&self.peers);
        let delay_line = self.delay_line.map_or(Usage::default(), Observee::usage);
        let main = &self.central[..1];
        MachineReading(BlockRow {
            duration_ms: self.began.elapsed().as_secs_f64() * 1e3,
            steal_ms: cores.steal_ms("cpu"),
            central_core_steal_ms: central_cores.map(|core| cores.steal_ms(&core)).sum(),
            central_runqueue_ns: cpu_time.runqueue_ns,
            central_voluntary_switches: central.voluntary_switches,
            central_involuntary_switches: central.involuntary_switches,
            central_user_ms: central.user_ms,
            central_system_ms: central.system_ms,
            peers_user_ms: peers.user_ms,
            peers_system_ms: peers.system_ms,
            delay_line_user_ms: delay_line.user_ms,
            delay_line_system_ms: delay_line.system_ms,
            other_cpu_ms: processes_ms.zip(central_cpu_ns).map(other_ms),
            central_tcp_retransmits: network::sum_over_namespaces(main, network::retransmits),
            peers_tcp_retransmits: network::sum_over_namespaces(&self.peers, network::retransmits),
            central_queue_drops: network::sum_over_namespaces(main, network::queue_drops),
            peers_queue_drops: network::sum_over_namespaces(&self.peers, network::queue_drops),
            suspended_ms: process::ahead_ms(ClockId::CLOCK_MONOTONIC, ClockId::CLOCK_BOOTTIME),
            clock_set_ms: process::ahead_ms(ClockId::CLOCK_BOOTTIME, ClockId::CLOCK_REALTIME),
            ..BlockRow::default()
        })
    }
}

impl MachineReading {
    /// What the machine did since an earlier reading.
    pub(super) fn since(self, before: MachineReading) -> MachineReading {
        MachineReading(self.0.since(before.0))
    }
}

impl QuickCounts {
    pub(super) fn quic_row(&self, slice: u32) -> Option<QuicRow> {
        let counts = self.quic?;
        Some(QuicRow {
            slice,
            rtt_ns: counts.rtt_ns.checked_div(counts.connections)?,
            packets_sent: counts.packets_sent,
            packets_lost: counts.packets_lost,
            congestion_events: counts.congestion_events,
            acks_sent: counts.acks_sent,
            acks_received: counts.acks_received,
            datagrams_sent: counts.datagrams_sent,
            datagrams_received: counts.datagrams_received,
            send_calls: counts.send_calls,
            receive_calls: counts.receive_calls,
        })
    }
}
